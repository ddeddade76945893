import { expect, test } from "vitest";
import type { ModelProvider } from "../../src/contract/model.ts";
import { createFlyto } from "../../src/extensions.ts";

const named = (name: string): ModelProvider => ({ name, models: () => [], stream: async function* () {} });

test("extensions hold what was given, and nothing by default", () => {
  // spec: R-1
  expect(createFlyto({})).toEqual({ providers: [], tools: [], toolClasses: {}, bundles: [], skills: [] });
  expect(createFlyto({ providers: [named("echo")] }).providers[0]?.name).toBe("echo");
});

test("a provider's name that is none, or is there twice, stops the Worker from starting", () => {
  expect(() => createFlyto({ providers: [named("")] })).toThrow("provider");
  expect(() => createFlyto({ providers: [named("a"), named("a")] })).toThrow('"a"');
});
