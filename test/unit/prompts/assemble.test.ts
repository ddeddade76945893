import { describe, expect, test } from "vitest";
import {
  assemblePrompt,
  bundleFromFunctions,
  dynamicSection,
  ENGLISH_BUNDLE,
  staticSection,
  toSystemBlocks,
  volatileSection,
} from "../../../src/prompts/index.ts";
import { BARE, FULL } from "./context.ts";

const bundle = bundleFromFunctions(
  () => [staticSection("rules", "R"), staticSection("more", "M")],
  () => [
    volatileSection("mail", ({ model }) => `mail for ${model}`, "new mail comes"),
    dynamicSection("place", ({ cwd }) => cwd),
    dynamicSection("skills", ({ skills }) => skills.map(({ name }) => name).join()),
  ],
);

// spec: B-2 B-6
describe("a prompt", () => {
  test("computes dynamic sections once a session and volatile ones each time", () => {
    const first = assemblePrompt(bundle, BARE);
    expect(first.dynamic).toEqual({ place: "/workspace", skills: "" });
    const later = assemblePrompt(bundle, { ...FULL, cwd: "/elsewhere", model: "other" }, first.dynamic);
    expect(later.sections.map(({ text }) => text)).toEqual(["R", "M", "/workspace", "mail for other"]);
    expect(later.dynamic).toEqual(first.dynamic);
    expect(assemblePrompt(bundle, { ...BARE, cwd: "/elsewhere" }).dynamic.place).toBe("/elsewhere");
  });

  test("computes a dynamic section the store has not, and hands it out to be stored", () => {
    expect(assemblePrompt(bundle, FULL, { place: "/old" }).dynamic).toEqual({ place: "/old", skills: "release" });
  });

  test("takes no section's text from what every object has", () => {
    const odd = bundleFromFunctions(
      () => [],
      () => [dynamicSection("constructor", () => "mine"), dynamicSection("__proto__", () => "too")],
    );
    const { sections, dynamic } = assemblePrompt(odd, BARE, {});
    expect(sections.map(({ text }) => text)).toEqual(["mine", "too"]);
    expect(Object.keys(dynamic)).toEqual(["constructor", "__proto__"]);
  });

  test("puts a request's own prompt in place of the static sections only", () => {
    const { sections } = assemblePrompt(bundle, BARE, undefined, { replaceStatic: "You are a pirate." });
    expect(sections.map(({ name, kind }) => `${name}:${kind}`)).toEqual([
      "system_prompt:static",
      "place:dynamic",
      "mail:volatile",
    ]);
  });
});

// spec: R-8
describe("system blocks", () => {
  test("mark the static text for caching and nothing else", () => {
    const blocks = toSystemBlocks(assemblePrompt(bundle, FULL).sections);
    expect(blocks).toEqual([
      { text: "R\n\nM", cache: true },
      { text: "/workspace/api\n\nrelease" },
      { text: "mail for claude-sonnet-4-6" },
    ]);
  });

  test("has no empty block", () => {
    expect(toSystemBlocks([])).toEqual([]);
    const { sections } = assemblePrompt(bundle, BARE, undefined, { replaceStatic: "" });
    expect(toSystemBlocks(sections).map(({ cache }) => cache)).toEqual([undefined, undefined]);
  });

  test("have the same cached text for every session", () => {
    const [one, other] = [FULL, BARE].map((context) =>
      toSystemBlocks(assemblePrompt(ENGLISH_BUNDLE, context).sections),
    );
    expect(one?.[0]).toEqual(other?.[0]);
    expect(one?.[0]?.cache).toBe(true);
    expect(one?.[1]).not.toEqual(other?.[1]);
  });
});
