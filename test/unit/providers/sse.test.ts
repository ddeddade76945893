import fc from "fast-check";
import { expect, test } from "vitest";
import { createSseDecoder } from "../../../src/shared/sse.ts";

const message = fc.record({
  event: fc.option(fc.constantFrom("delta", "ping"), { nil: undefined }),
  data: fc.array(
    fc.string({ unit: "binary" }).map((s) => s.replace(/[\r\n]/g, "")),
    { minLength: 1, maxLength: 3 },
  ),
});

function decode(bytes: Uint8Array, cuts: readonly number[]) {
  const decoder = createSseDecoder();
  const points = [...new Set([0, ...cuts.map((c) => c % (bytes.byteLength + 1)), bytes.byteLength])].sort(
    (a, b) => a - b,
  );
  const out = points.slice(1).flatMap((end, n) => [...decoder.push(bytes.subarray(points[n], end))]);
  return [...out, ...decoder.end()].map(({ event, data }) => ({ event, data }));
}

test("decodes the same messages wherever chunks are cut, with any line end", () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 6 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 12 }),
      (messages, eol, bom, cuts) => {
        const text = messages
          .map(
            (m) =>
              `: note${eol}${m.event ? `event: ${m.event}${eol}` : ""}${m.data.map((d) => `data: ${d}${eol}`).join("")}${eol}`,
          )
          .join("");
        const bytes = new TextEncoder().encode((bom ? "\uFEFF" : "") + text);
        const whole = decode(bytes, []);
        expect(decode(bytes, cuts)).toEqual(whole);
        expect(decode(bytes, bytes.length < 400 ? [...bytes.keys()] : cuts)).toEqual(whole);
        expect(whole).toHaveLength(messages.length);
      },
    ),
  );
});

test.each([
  ['data: {"a":1}', ['{"a":1}']],
  ['data: {"a":1}\n', ['{"a":1}']],
  ["data: [DONE]", ["[DONE]"]],
  ['data: {"a":', []],
  ['data: {"a":1}\n\ndata: {"b"', ['{"a":1}']],
])("keeps an unterminated last message only when it is whole: %j", (text, expected) => {
  const decoder = createSseDecoder();
  const out = [...decoder.push(new TextEncoder().encode(text)), ...decoder.end()];
  expect(out.map((m) => m.data)).toEqual(expected);
});

test("stops decoding when one message outgrows the cap", () => {
  const decoder = createSseDecoder(100);
  decoder.push(new TextEncoder().encode(`data: ${"x".repeat(500)}`));
  expect(decoder.overflowed).toBe(true);
  expect(decoder.push(new TextEncoder().encode("data: 1\n\n"))).toEqual([]);
});
