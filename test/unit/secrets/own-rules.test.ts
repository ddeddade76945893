import { describe, expect, it } from "vitest";
import { createSecretGuard } from "../../../src/secrets/guard/guard.ts";
import { parseSecretRules } from "../../../src/secrets/guard/own-rules.ts";

const TOKEN = ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXq7Rk"].join("");

function errorFor(rules: unknown): string {
  const parsed = parseSecretRules(typeof rules === "string" ? rules : JSON.stringify(rules));
  return parsed.ok ? "accepted" : parsed.error;
}

function guardWith(...rules: object[]) {
  const parsed = parseSecretRules(JSON.stringify(rules));
  if (!parsed.ok) throw new Error(parsed.error);
  return createSecretGuard({ rules: parsed.value, exemptPaths: ["fixtures/"] });
}

describe("a deployment's own secret rules", () => {
  // spec: S-3
  it("are found beside the built-in ones, and exempt paths hold for both", () => {
    const guard = guardWith(
      { id: "badge", regex: "badge-\\d{6}", keywords: ["BADGE"] },
      { id: "internal-host", regex: "host: (?<secret>[a-z]+\\.example\\.corp)" },
    );
    const text = `badge-194726 ${TOKEN} host: db.example.corp.`;
    expect(guard.redact(text)).toBe("[SECRET:badge] [SECRET:github-pat] host: [SECRET:internal-host].");
    expect(guard.scan("src/a", text).map((match) => match.rule)).toEqual(["badge", "github-pat", "internal-host"]);
    expect(guard.scan("fixtures/a", text)).toEqual([]);
    expect(guardWith({ id: "x", regex: "badge-\\d", keywords: ["other"] }).redact("badge-1")).toBe("badge-1");
  });

  it("keep their meaning when repeats are given a bound of 4,000", () => {
    const matches: [string, string][] = [
      ["k[*+{1,}]+z", "k*+{1,}*z"],
      ["k\\+\\*\\{1,}", "k+*{1,}"],
      ["k[\\]+]+z", "k]+]z"],
      ["a+?b{2,}", "aabbb"],
      ["x{5000,}", "x".repeat(5_000)],
    ];
    for (const [regex, text] of matches) {
      expect([regex, guardWith({ id: "x", regex }).redact(`<${text}>`)]).toEqual([regex, "<[SECRET:x]>"]);
    }
    const long = `k${"b".repeat(5_000)}`;
    for (const [regex, end] of [
      ["k[a-z]+", 4_001],
      ["k[a-z]*", 4_001],
      ["k[a-z]{2,}", 4_001],
      ["k[a-z]{2,4500}", 4_501],
    ] as const) {
      expect(guardWith({ id: "x", regex }).scan("a", long)).toEqual([{ rule: "x", start: 0, end }]);
    }
  });

  it("may be none", () => {
    for (const text of ["", "  ", "[]"]) expect(parseSecretRules(text)).toEqual({ ok: true, value: [] });
  });

  it("are refused by name when an expression may take for ever, is too long, broken or matches nothing", () => {
    const good = { id: "good", regex: "badge-[0-9]+-[a-z]{3,}" };
    const wrong: [string, string][] = [
      ["(a+)+", "repeats a group"],
      ["(?:x*y?){2,}", "repeats a group"],
      ["((ab)*c)+", "repeats a group"],
      ["(a|a)*b", "repeats a group"],
      ["(a)\\1+", "refers back"],
      ["a".repeat(501), "longer than 500"],
      ["(", "not a valid"],
      ["(?i)abc", "not a valid"],
      ["a*", "empty text"],
      ["(?:abc)?", "empty text"],
      ["\\b", "empty text"],
      ["(?<=[a-z])(?=:)|(?=Z)", "empty text"],
      ["", "regex"],
    ];
    for (const [regex, words] of wrong) {
      const error = errorFor([good, { id: "bad-one", regex }]);
      expect([regex, error]).toEqual([regex, expect.stringMatching(/^secret rule "bad-one": /)]);
      expect([regex, error]).toEqual([regex, expect.stringContaining(words)]);
    }
    expect(errorFor([good])).toBe("accepted");
  });

  it("are refused by name or place when the list is not as it should be", () => {
    const rule = { id: "a", regex: "abc" };
    expect(errorFor("{")).toBe("the secret rules are not a JSON list");
    expect(errorFor({ rules: [] })).toBe("the secret rules are not a JSON list");
    expect(errorFor([rule, rule])).toBe('secret rule "a": the id is taken');
    expect(errorFor([{ id: "github-pat", regex: "abc" }])).toBe('secret rule "github-pat": the id is taken');
    expect(errorFor([rule, { regex: "abc" }])).toMatch(/^secret rule 2: id: /);
    expect(errorFor([rule, 7])).toMatch(/^secret rule 2: /);
    expect(errorFor([{ id: "No Good", regex: "abc" }])).toMatch(/^secret rule "No Good": id: must be/);
    expect(errorFor([{ ...rule, keyword: "x" }])).toMatch(/^secret rule "a": .*keyword/);
    expect(errorFor([{ ...rule, keywords: [] }])).toMatch(/^secret rule "a": keywords: /);
    expect(errorFor(Array.from({ length: 101 }, (_, i) => ({ id: `r${i}`, regex: "abc" })))).toContain("more than 100");
  });
});
