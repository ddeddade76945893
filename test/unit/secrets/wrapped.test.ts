import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../src/secrets/redactor/redactor.ts";

const BREAKS = ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\\\\r\\\\n"];
const encoder = new TextEncoder();

function base64(text: string): string {
  return btoa(String.fromCharCode(...encoder.encode(text)));
}

function hex(text: string): string {
  return [...encoder.encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lines of a fixed width; the first one may be shorter, because a program's own text can stand before it. */
function wrap(text: string, width: number, first: number, lineEnd: string): string {
  const lines = [text.slice(0, first)];
  for (let at = first; at < text.length; at += width) lines.push(text.slice(at, at + width));
  return lines.filter((line) => line !== "").join(lineEnd);
}

function cut(text: string, at: readonly number[]): string[] {
  const cuts = [...new Set(at.map((place) => place % (text.length + 1)))].sort((left, right) => left - right);
  return [...cuts, text.length].map((end, index) => text.slice(cuts[index - 1] ?? 0, end));
}

function redactPieces(secret: string, pieces: readonly string[]): string {
  const stream = createRedactor({ S: secret }).createStream();
  return pieces.map((piece) => stream.push(piece)).join("") + stream.flush();
}

/** The letters that depend on the secret alone, in the encoding of `lead + secret + …`. */
function ownLetters(lead: string, secret: string): { from: number; to: number } {
  const [before, own] = [encoder.encode(lead).length, encoder.encode(secret).length];
  return { from: Math.ceil((before * 4) / 3), to: Math.floor(((before + own) * 4) / 3) };
}

const secretText = fc.string({ minLength: 12, maxLength: 120, unit: "grapheme-ascii" });
const breakText = fc.constantFrom(...BREAKS);
const places = fc.array(fc.nat(), { maxLength: 12 });

describe("secrets in base64 that is broken into lines", () => {
  // spec: S-5
  it("shows nothing of the value, for each alignment, width, line end and cut of the stream", () => {
    fc.assert(
      fc.property(
        secretText,
        fc.string({ maxLength: 200, unit: "grapheme-ascii" }),
        fc.string({ maxLength: 60, unit: "grapheme-ascii" }),
        fc.record({ width: fc.constantFrom(60, 64, 76), first: fc.integer({ min: 1, max: 76 }), lineEnd: breakText }),
        fc.boolean(),
        places,
        (secret, lead, tail, { width, first, lineEnd }, urlSafe, at) => {
          const standard = base64(lead + secret + tail);
          const text = urlSafe ? standard.replaceAll("+", "-").replaceAll("/", "_") : standard;
          const { from, to } = ownLetters(lead, secret);
          fc.pre(text.indexOf(text.slice(from, to)) === from);
          const output = redactPieces(secret, cut(`$ base64 x\n${wrap(text, width, first, lineEnd)}\n$`, at));
          const whole = output.replaceAll(lineEnd, "");
          expect(output).toContain("[SECRET:S]");
          expect(whole).toContain(text.slice(0, from));
          expect(whole.replaceAll("[SECRET:S]", "\u0000")).not.toContain(text.slice(from, to).slice(0, 6));
          expect(output.startsWith("$ base64 x\n") && output.endsWith("\n$")).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("gives the same whether the text comes whole or in pieces", () => {
    fc.assert(
      fc.property(
        secretText,
        fc.array(fc.oneof(breakText, fc.string({ maxLength: 3 }), fc.constantFrom("lead", "part")), { maxLength: 8 }),
        places,
        (secret, parts, at) => {
          const text = parts.map((part) => (part === "part" ? wrap(base64(secret), 9, 5, "\n") : part)).join("");
          expect(redactPieces(secret, cut(text, at))).toBe(createRedactor({ S: secret }).redact(text));
        },
      ),
    );
  });

  it("hides padded text, hexadecimal dumps and slashes that JSON escapes", () => {
    const secret = "hunter2-??>>-Correct-Horse!";
    expect(base64(secret)).toContain("/");
    for (const text of [
      wrap(base64(secret), 11, 7, "\n"),
      wrap(hex(secret), 60, 9, "\n"),
      wrap(hex(secret).toUpperCase(), 60, 9, "\\n"),
      base64(secret).replaceAll("/", "\\/"),
      JSON.stringify(JSON.stringify(wrap(base64(secret), 8, 8, "\r\n"))).slice(3, -3),
    ]) {
      expect(createRedactor({ S: secret }).redact(`<${text}>`)).toBe("<[SECRET:S]>");
    }
  });

  it("gives text without secrets back unchanged, and a value that is only torn apart too", () => {
    const secret = "hunter2-Correct-Horse!";
    const encoded = base64(secret);
    const piece = fc.oneof(
      fc.constantFrom(...BREAKS, encoded.slice(0, 9), encoded.slice(3, 14), encoded.slice(-9), "\\t", "\\", "/", "="),
      fc.string({ unit: "binary", maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const bare = pieces.join("").replace(/\s|\\+[nr]|\\/g, "");
        fc.pre(!bare.includes(encoded.slice(4, 28)));
        expect(redactPieces(secret, pieces)).toBe(pieces.join(""));
      }),
      { numRuns: 500 },
    );
    const torn = "hunter2-\nCorrect-Horse!";
    expect(createRedactor({ S: secret }).redact(torn)).toBe(torn);
  });

  it("holds text only while it can still become a secret", () => {
    const encoded = base64("hunter2-Correct-Horse!");
    const stream = createRedactor({ S: "hunter2-Correct-Horse!" }).createStream();
    expect(stream.push(`x ${encoded.slice(0, 10)}\n`)).toBe("x ");
    expect(stream.push("    ")).toBe("");
    expect(stream.push("!")).toBe(`${encoded.slice(0, 10)}\n    !`);
    expect(stream.push(`${encoded.slice(0, 10)}\\`)).toBe("");
    expect(stream.push("t")).toBe(`${encoded.slice(0, 10)}\\t`);
    expect(stream.push(`${encoded.slice(0, 10)}\n`)).toBe("");
    expect(stream.push("\n".repeat(300))).toBe(`${encoded.slice(0, 10)}${"\n".repeat(301)}`);
    expect(stream.push(`${encoded.slice(0, 10)}\r`)).toBe("");
    expect(stream.push(`\n${encoded.slice(10)}`)).toBe("[SECRET:S]");
    expect(stream.push("plain words\n")).toBe("plain words\n");
  });

  it("gets through texts made of almost-secrets", () => {
    const redactor = createRedactor({ S: `${"\0".repeat(1_500)}x` });
    for (const text of ["A\n".repeat(500_000), "A\\".repeat(500_000), `${"A".repeat(76)}\n`.repeat(10_000)]) {
      expect(redactor.redact(text) === text).toBe(true);
    }
  });
});
