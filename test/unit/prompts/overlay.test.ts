import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PromptBundle, PromptSection } from "../../../src/contract/prompts.ts";
import {
  assemblePrompt,
  type BundleOverlay,
  bundleFromFunctions,
  dynamicSection,
  ENGLISH_BUNDLE,
  overlay,
  staticSection,
  volatileSection,
} from "../../../src/prompts/index.ts";
import { FULL } from "./context.ts";

const base = bundleFromFunctions(
  () => [staticSection("a", "A"), staticSection("b", "B")],
  () => [dynamicSection("c", () => "C"), volatileSection("d", () => "D", "d changes"), dynamicSection("e", () => "E")],
);

const texts = (bundle: PromptBundle) =>
  assemblePrompt(bundle, FULL).sections.map(({ name, text }) => `${name}=${text}`);
const namesOf = (bundle: PromptBundle) =>
  [...bundle.staticSections(), ...bundle.dynamicSections()].map(({ name }) => name);

// spec: B-4 B-5
describe("an overlay", () => {
  test("replaces sections in their places and leaves the base alone", () => {
    const changed = overlay(base)
      .overrideStatic("b", "B2")
      .overrideDynamic("c", ({ cwd }) => cwd)
      .overrideVolatile("d", () => "D2", "still changes");
    expect(texts(changed)).toEqual(["a=A", "b=B2", `c=${FULL.cwd}`, "e=E", "d=D2"]);
    expect(texts(base)).toEqual(["a=A", "b=B", "c=C", "e=E", "d=D"]);
  });

  test("is immutable: a chain leaves its links as they were", () => {
    const first = overlay(base).overrideStatic("a", "1");
    const second = first.overrideStatic("a", "2").overrideStatic("b", "2");
    expect(texts(first).slice(0, 2)).toEqual(["a=1", "b=B"]);
    expect(texts(second).slice(0, 2)).toEqual(["a=2", "b=2"]);
  });

  test("ignores a name the base has not", () => {
    expect(
      texts(
        overlay(base)
          .overrideStatic("nobody", "X")
          .overrideDynamic("toString", () => "X"),
      ),
    ).toEqual(texts(base));
  });

  test("moves a section whose kind changes, and says why a volatile one is", () => {
    const changed = overlay(base)
      .overrideSection({ kind: "static", name: "c", text: "C3" })
      .overrideVolatile("a", () => "A3", "clock");
    const { sections } = assemblePrompt(changed, FULL);
    expect(sections.map(({ name, kind }) => `${name}:${kind}`)).toEqual([
      "b:static",
      "c:static",
      "e:dynamic",
      "a:volatile",
      "d:volatile",
    ]);
    expect(sections.find(({ name }) => name === "a")?.reason).toBe("clock");
  });

  test("works over an overlay", () => {
    const inner = overlay(base).overrideStatic("a", "inner").overrideStatic("b", "inner");
    expect(texts(overlay(inner).overrideStatic("a", "outer")).slice(0, 2)).toEqual(["a=outer", "b=inner"]);
  });

  test("removes a section by saying nothing in it", () => {
    expect(
      texts(
        overlay(base)
          .overrideStatic("a", "")
          .overrideDynamic("c", () => " \n"),
      ),
    ).toEqual(["b=B", "e=E", "d=D"]);
  });
});

const ORDER = ["static", "dynamic", "volatile"];
const name = fc.constantFrom(...namesOf(ENGLISH_BUNDLE), "unknown", "__proto__");
const section: fc.Arbitrary<PromptSection> = fc
  .record({ name, kind: fc.constantFrom("static", "dynamic", "volatile"), text: fc.string() })
  .map(({ name, kind, text }) => {
    if (kind === "static") return staticSection(name, text);
    return kind === "dynamic" ? dynamicSection(name, () => text) : volatileSection(name, () => text, "because");
  });
const override = (bundle: BundleOverlay, each: PromptSection): BundleOverlay => {
  switch (each.kind) {
    case "static":
      return bundle.overrideStatic(each.name, each.text);
    case "dynamic":
      return bundle.overrideDynamic(each.name, each.compute);
    case "volatile":
      return bundle.overrideVolatile(each.name, each.compute, each.reason);
    default:
      return each satisfies never;
  }
};

describe("any chain of overrides", () => {
  test("keeps static before dynamic before volatile, adds nothing, and the last of a name wins", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(section, fc.boolean()), { maxLength: 12 }), (chain) => {
        const made = chain.reduce<BundleOverlay>(
          (bundle, [each, bySection]) => (bySection ? bundle.overrideSection(each) : override(bundle, each)),
          overlay(ENGLISH_BUNDLE),
        );
        expect(namesOf(made).toSorted()).toEqual(namesOf(ENGLISH_BUNDLE).toSorted());
        expect(made.staticSections().every(({ kind }) => kind === "static")).toBe(true);
        const { sections } = assemblePrompt(made, FULL);
        const kinds = sections.map(({ kind }) => ORDER.indexOf(kind));
        expect(kinds).toEqual(kinds.toSorted((one, other) => one - other));
        for (const kind of ORDER) {
          const own = sections.filter((each) => each.kind === kind).map((each) => each.name);
          expect(own).toEqual(namesOf(ENGLISH_BUNDLE).filter((each) => own.includes(each)));
        }
        for (const each of sections) {
          const last = chain.findLast(([{ name }]) => name === each.name)?.[0];
          if (last === undefined) continue;
          expect(each.kind).toBe(last.kind);
          expect(each.text).toBe(last.kind === "static" ? last.text : last.compute(FULL));
        }
      }),
    );
  });
});
