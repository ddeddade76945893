import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, secretProblem } from "../../../src/secrets/redactor/redactor.ts";

const SECRET = ["hunter2", "Correct", "Horse!"].join("-");
const redactor = createRedactor({ DB: SECRET });

function throughStream(pieces: readonly string[], secrets: Record<string, string> = { DB: SECRET }): string {
  const stream = createRedactor(secrets).createStream();
  return pieces.map((piece) => stream.push(piece)).join("") + stream.flush();
}

function cut(text: string, at: readonly number[]): string[] {
  const cuts = [...new Set(at.map((place) => place % (text.length + 1)))].sort((left, right) => left - right);
  return [...cuts, text.length].map((end, index) => text.slice(cuts[index - 1] ?? 0, end));
}

describe("the redactor", () => {
  // spec: S-5
  it("refuses values under 8 bytes with the text of the reference", () => {
    expect(secretProblem("SHORT", "abc")).toBe('secret "SHORT" value too short (min 8 bytes): got 3');
    expect(secretProblem("OK", "密码三")).toBeUndefined();
    expect(() => createRedactor({ SHORT: "abc" })).toThrow("got 3");
  });

  it("never lets a secret out, wherever the stream is cut", () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 40, unit: "grapheme" })
      .filter((text) => secretProblem("S", text) === undefined && text.length >= 8);
    fc.assert(
      fc.property(
        secret,
        fc.string(),
        fc.string(),
        fc.array(fc.nat(), { maxLength: 12 }),
        (value, before, after, at) => {
          fc.pre(!"[SECRET:S]".includes(value));
          const output = throughStream(cut(before + value + after, at), { S: value });
          expect(output).toContain("[SECRET:S]");
          expect(output.replaceAll("[SECRET:S]", "\u0000")).not.toContain(value);
          expect(output).toBe(createRedactor({ S: value }).redact(before + value + after));
        },
      ),
    );
  });

  it("hides every encoded form, wherever the value starts", () => {
    const encode = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
    for (const lead of ["", "u:", "user:", "a"]) {
      for (const tail of ["", "\n", ":x"]) {
        const core = encode(lead + SECRET + tail).slice(4, -4);
        for (const text of [core, core.replaceAll("+", "-").replaceAll("/", "_")]) {
          expect(redactor.redact(`x ${encode(lead + SECRET + tail)} y`)).not.toContain(text.slice(4, 24));
        }
      }
    }
    const odd = createRedactor({ ODD: 'a b/"c"\\d\ne+ü&<f>' });
    const value = 'a b/"c"\\d\ne+ü&<f>';
    for (const form of [
      JSON.stringify(value),
      JSON.stringify(JSON.stringify(value)),
      encodeURIComponent(value),
      new URLSearchParams({ q: value }).toString(),
    ]) {
      expect([form, odd.redact(form).includes("[SECRET:ODD]")]).toEqual([form, true]);
    }
  });

  // spec: S-5
  it("hides a value however a writer of JSON, addresses, markup or code escapes it", () => {
    const value = `a'b"c<d>&e/f ü\\g\t$h\u007f`;
    const odd = createRedactor({ ODD: value });
    const json = JSON.stringify(value).slice(1, -1);
    const units = (text: string, which: RegExp) =>
      text.replace(which, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const url = encodeURIComponent(value).replaceAll("'", "%27");
    const hex = Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, "0"));
    const forms = [
      units(json, /[<>&]/g),
      units(json, /[<>&]/g).replace(/u003[ce]/g, (code) => `u${code.slice(1).toUpperCase()}`),
      units(json, /[\u007f-\uffff]/g),
      JSON.stringify(units(json, /[\u007f-\uffff]/g)).slice(1, -1),
      units(value, /[\s\S]/g),
      url.replaceAll("%2F", "/"),
      url.replaceAll("%", "%25"),
      `%${hex.join("%")}`,
      `%${hex.join("%").toUpperCase()}`,
      `\\x${hex.join("\\x")}`,
      hex.join(":"),
      hex.join(" "),
      btoa(btoa(String.fromCharCode(...new TextEncoder().encode(value)))),
      value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
      value
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;")
        .replaceAll('"', "&#34;")
        .replaceAll("'", "&#39;"),
      value.replaceAll("'", "'\\''"),
      value.replace(/["\\$]/g, "\\$&"),
      "a'b\"c<d>&e/f \\xc3\\xbc\\\\g\\t$h\\x7f",
    ];
    for (const form of forms) expect([form, odd.redact(`x ${form} y`)]).toEqual([form, "x [SECRET:ODD] y"]);
  });

  it("gives text without secrets back unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (pieces) => {
        fc.pre(!pieces.join("").includes(SECRET.slice(0, 8)));
        expect(throughStream(pieces)).toBe(pieces.join(""));
      }),
    );
    expect(createRedactor({}).active).toBe(false);
  });

  it("holds text only while it can still become a secret", () => {
    const stream = redactor.createStream();
    expect(stream.push("see hunter2-")).toBe("see ");
    expect(stream.push("Wrong ")).toBe("hunter2-Wrong ");
    expect(stream.push(SECRET)).toBe("[SECRET:DB]");
    expect(stream.push("h")).toBe("");
    expect(stream.flush()).toBe("h");
  });

  it("hides overlapping secrets without leaving a tail", () => {
    const secrets = { A: "first-second", B: "second-third", C: "first-second-third-x" };
    expect(throughStream(["first-sec", "ond-third."], secrets)).toBe("[SECRET:A].");
    expect(throughStream(["first-second-third-x", "first-second"], secrets)).toBe("[SECRET:C][SECRET:A]");
    expect(throughStream(["aaaaaaaaaaaaaaaa", "aaab"], { R: "aaaaaaaa" })).toBe("[SECRET:R]b");
  });

  it("redacts values, keys and numbers of JSON and leaves the rest alone", () => {
    const bytes = new TextEncoder().encode(SECRET);
    const value = { [SECRET]: [SECRET, 1, null, true, { deep: `x ${SECRET}` }], bytes, pin: 1234567890 };
    const shown = createRedactor({ DB: SECRET, PIN: "1234567890" }).redactJson(value) as Record<string, unknown>;
    expect(shown).toEqual({
      "[SECRET:DB]": ["[SECRET:DB]", 1, null, true, { deep: "x [SECRET:DB]" }],
      bytes,
      pin: "[SECRET:PIN]",
    });
    const proto = redactor.redactJson(JSON.parse(`{"__proto__": {"a": "${SECRET}"}}`));
    expect(JSON.stringify(proto)).toBe('{"__proto__":{"a":"[SECRET:DB]"}}');
    let nested: unknown = SECRET;
    for (let depth = 0; depth < 1000; depth += 1) nested = [nested];
    expect(JSON.stringify(redactor.redactJson(nested))).not.toContain(SECRET);
  });

  it("hands back the same object where nothing had to change", () => {
    const value = { a: ["nothing to hide here", 1], b: { c: "short" } };
    expect(redactor.redactJson(value)).toBe(value);
    const half = redactor.redactJson({ clean: value, dirty: SECRET });
    expect(half).toEqual({ clean: value, dirty: "[SECRET:DB]" });
    expect(half.clean).toBe(value);
  });

  it("gets through texts made of almost-secrets", () => {
    const repeated = createRedactor({ R: `${"a".repeat(2000)}b` });
    const text = "a".repeat(1_000_000);
    expect(repeated.redact(text)).toBe(text);
  });
});
