import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AssembledSection } from "../../../src/contract/prompts.ts";
import { cacheBreak, cachePrefix, quickDigest } from "../../../src/prompts/index.ts";

const intro: AssembledSection = { name: "intro", kind: "static", text: "Hello" };
const place: AssembledSection = { name: "place", kind: "dynamic", text: "/workspace" };
const mail: AssembledSection = { name: "mail", kind: "volatile", text: "none", reason: "new mail comes" };
const prefix = (sections: readonly AssembledSection[], tools = "t1") => cachePrefix(sections, tools);
const before = prefix([intro, place, mail]);

// spec: B-2 R-8
describe("a cache break", () => {
  test("is none when the prompt repeats itself", () => {
    expect(cacheBreak(before, prefix([{ ...intro }, { ...place }, { ...mail }]))).toBeUndefined();
    expect(cacheBreak(prefix([]), prefix([]))).toBeUndefined();
  });

  test("is the tools', before any section", () => {
    expect(cacheBreak(before, prefix([{ ...intro, text: "Bye" }], "t2"))).toEqual({
      section: "tool_definitions",
      kind: "tools",
      change: "changed",
    });
  });

  test("is the first section that changed", () => {
    const now = prefix([intro, { ...place, text: "/tmp" }, { ...mail, text: "one" }]);
    expect(cacheBreak(before, now)).toEqual({ section: "place", kind: "dynamic", change: "changed" });
  });

  test("carries the reason of a volatile section", () => {
    expect(cacheBreak(before, prefix([intro, place, { ...mail, text: "one" }]))).toEqual({
      section: "mail",
      kind: "volatile",
      change: "changed",
      reason: "new mail comes",
    });
  });

  test("tells a section that came from one that went", () => {
    const without = prefix([intro, mail]);
    expect(cacheBreak(before, without)).toMatchObject({ section: "place", change: "removed" });
    expect(cacheBreak(without, before)).toMatchObject({ section: "place", change: "added" });
    expect(cacheBreak(prefix([intro]), prefix([intro, mail]))).toMatchObject({ section: "mail", change: "added" });
    expect(cacheBreak(prefix([intro, mail]), prefix([intro]))).toMatchObject({ section: "mail", change: "removed" });
  });

  test("sees a section that moved or changed its kind", () => {
    const other: AssembledSection = { name: "other", kind: "static", text: "x" };
    const moved = cacheBreak(prefix([intro, other]), prefix([other, intro]));
    expect(moved).toMatchObject({ section: "other", change: "added" });
    const turned = cacheBreak(before, prefix([intro, { ...place, kind: "static" }, mail]));
    expect(turned).toMatchObject({ section: "place", kind: "static" });
  });

  test("is found whenever the texts differ, and only then", () => {
    const sections = fc.uniqueArray(
      fc.record({ name: fc.constantFrom("a", "b", "c"), text: fc.constantFrom("x", "y") }),
      {
        selector: ({ name }) => name,
      },
    );
    const made = (list: readonly { readonly name: string; readonly text: string }[]) =>
      prefix(list.map((each): AssembledSection => ({ ...each, kind: "dynamic" })));
    fc.assert(
      fc.property(sections, sections, (one, other) => {
        const broken = cacheBreak(made(one), made(other));
        expect(broken === undefined).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
    );
  });

  test("can be priced: each section has the tokens the caller counts", () => {
    const counted = cachePrefix([intro, place], "t", { countTokens: (text) => text.length, digest: (text) => text });
    expect(counted.sections.map(({ tokens, digest }) => [tokens, digest])).toEqual([
      [5, "Hello"],
      [10, "/workspace"],
    ]);
  });
});

describe("the quick digest", () => {
  test("is the same for the same text only", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(quickDigest(one) === quickDigest(other)).toBe(one === other);
      }),
    );
    expect(quickDigest("")).toMatch(/^[0-9a-f]{16}$/);
    expect(quickDigest("a\u0000")).not.toBe(quickDigest("a"));
  });
});
