import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSecretGuard, NOOP_GUARD } from "../../../src/secrets/guard/guard.ts";
import { BUILTIN_RULES } from "../../../src/secrets/guard/rules.ts";

const guard = createSecretGuard();
const join = (...parts: string[]) => parts.join("");
const LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fX";
const TOKEN = join("gh", "p_", LETTERS, "q7Rk");
const rules = (text: string) => guard.scan("a.txt", text).map((match) => match.rule);

describe("the secret guard", () => {
  // spec: S-3
  it("has 45 built-in rules with ids of their own", () => {
    expect(new Set(BUILTIN_RULES.map((rule) => rule.id)).size).toBe(45);
  });

  it("reports each secret with its place and never its value", () => {
    const text = `a ${TOKEN} b ${TOKEN}`;
    expect(guard.scan("x", text)).toEqual([
      { rule: "github-pat", start: 2, end: 42 },
      { rule: "github-pat", start: 45, end: 85 },
    ]);
    expect(guard.redact(text)).toBe("a [SECRET:github-pat] b [SECRET:github-pat]");
  });

  it("judges generic values by name and by content", () => {
    expect(rules(join("refresh_token = '", LETTERS, "'"))).toEqual(["generic-secret"]);
    expect(rules(join("dbPassword: ", LETTERS))).toEqual(["generic-secret"]);
    expect(rules(join("token_id = '", LETTERS, "'"))).toEqual([]);
    expect(rules(join("public_key = '", LETTERS, "'"))).toEqual([]);
    expect(rules("const secretKey = config.services.payment.secretKey;")).toEqual([]);
    expect(rules("token = await getAccessTokenSilently2()")).toEqual([]);
  });

  it("finds an encrypted key block and an address with a password", () => {
    const body = `${LETTERS}${LETTERS}${LETTERS}`.replace(/(.{24})/g, "$1\n");
    expect(
      rules(
        join(
          "-----BEGIN RSA ",
          "PRIVATE",
          " KEY-----\nProc-Type: 4,ENCRYPTED\n\n",
          body,
          "\n-----END RSA ",
          "PRIVATE",
          " KEY-----",
        ),
      ),
    ).toContain("private-key");
    expect(rules(join("postgres://app:", LETTERS, "@db.example/x"))).toEqual(["database-url"]);
    expect(rules("postgres://app:${PASSWORD}@db.example/x".replace("{", "{"))).toEqual([]);
  });

  // spec: S-3
  it("finds generic and AWS values in every way of assigning them", () => {
    const shapes = [
      "<password>%</password>",
      '<add key="ApiKey" value="%" />',
      '- name: DB_PASSWORD\n  value: "%"',
      '{"name":"API_TOKEN","value":"%"}',
      '{\\"api_key\\":\\"%\\"}',
      'os.environ["API_KEY"] = "%"',
      'API_KEY: str = "%"',
      "tool --token %",
      'passphrase: "%"',
      "DB_PASS=%",
    ];
    for (const shape of shapes)
      expect([shape, rules(shape.replace("%", LETTERS))]).toEqual([shape, ["generic-secret"]]);
    const secret = `${LETTERS}/q7Rk+Lx`;
    for (const shape of ["<aws_secret_access_key>%</aws_secret_access_key>", "name: AWS_SECRET_ACCESS_KEY\nvalue: %"])
      expect([shape, rules(shape.replace("%", secret))]).toEqual([shape, ["aws-secret-access-key"]]);
    for (const name of ["hotkey", "siteKey", "recaptcha_site_key", "pubkey256", "a bypass"])
      expect([name, rules(`${name}="${LETTERS}"`)]).toEqual([name, []]);
  });

  // spec: S-3
  it("finds tokens of letters alone, of short groups and at the end of a sentence", () => {
    expect(rules(join("key: LT", "AI", "aDhDmBvRYrGwnoUk"))).toEqual(["aliyun-access-key-id"]);
    expect(rules(join("LT", "AInternationalShipping"))).toEqual([]);
    expect(rules(join("xo", "xs-938214926823-269699392452-998397372988-", "40cd624632"))).toEqual(["slack-token"]);
    expect(rules(join("The secret is Ab3", "4Q", "~", LETTERS, "aZ."))).toEqual(["azure-client-secret"]);
  });

  // spec: S-3
  it("finds key blocks as OpenSSH writes them, with runs of one letter, and blocks that were cut off", () => {
    const head = join("-----BEGIN OPENSSH ", "PRIVATE", " KEY-----");
    const foot = join("-----END OPENSSH ", "PRIVATE", " KEY-----");
    const body = [join("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA", "AAAEbm9uZQAAAAAAAAAB"), LETTERS, `${LETTERS}q7Rk`, LETTERS];
    const block = [head, ...body, foot, ""];
    const forms = {
      plain: block.join("\n"),
      escaped: block.join("\\n"),
      quoted: block.map((line) => `> ${line}`).join("\n"),
      cut: block.slice(0, -2).join("\n"),
    };
    for (const [form, text] of Object.entries(forms)) {
      expect([form, rules(text)]).toEqual([form, ["private-key"]]);
      expect([form, guard.redact(text).includes(LETTERS)]).toEqual([form, false]);
    }
    expect(rules([head, `<the key of ${LETTERS}${LETTERS}${LETTERS}>`, foot].join("\n"))).toEqual([]);
    expect(rules(`if (line.startsWith("${head}")) return ${LETTERS};`)).toEqual([]);
  });

  it("takes own rules, exempt paths and the guard that does nothing", () => {
    const own = createSecretGuard({
      rules: [{ id: "badge", name: "Badge", keywords: ["badge-"], pattern: /badge-\d{6}/g }],
      exemptPaths: ["testdata/", "/fixtures/"],
    });
    expect(own.scan("x", "badge-194726").map((match) => match.rule)).toEqual(["badge"]);
    for (const path of ["testdata/a", "./testdata/a", "src//fixtures/a"]) expect(own.scan(path, TOKEN)).toEqual([]);
    for (const path of ["src/testdata.ts", "mytestdata/a", "Testdata/a"]) expect(own.scan(path, TOKEN)).toHaveLength(1);
    expect(NOOP_GUARD.scan("x", TOKEN)).toEqual([]);
    expect(NOOP_GUARD.redact(TOKEN)).toBe(TOKEN);
  });

  it("leaves nothing to report after redaction", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom(TOKEN, join("AK", "IA", "BKMYY62MCTJMBGLU"))), { maxLength: 8 }),
        (parts) => {
          const redacted = guard.redact(parts.join(" "));
          expect(guard.scan("x", redacted)).toEqual([]);
        },
      ),
    );
  });

  it("gets through a megabyte of near misses of every prefix", () => {
    const prefixes = [
      "awskey",
      "minimax ",
      "eyJa.eyJa.",
      "-----BEGIN PRIVATE KEY-----",
      "a_key=",
      "token: ",
      "postgres://a:",
      "sk-",
      "https://a:b",
      "xoxb-1-",
      '"private_key":"',
      'key",  "value" ',
      "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnopq\n",
      "glpat-",
      "a".repeat(50),
      "_authToken=",
    ];
    for (const prefix of prefixes)
      expect(guard.scan("x", prefix.repeat(Math.floor(1_000_000 / prefix.length))).length).toBeLessThan(2);
  });
});
