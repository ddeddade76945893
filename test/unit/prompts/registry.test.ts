import { describe, expect, test } from "vitest";
import { BundleKey } from "../../../src/contract/prompt-parts.ts";
import {
  bundleFromFunctions,
  CHINESE_BUNDLE,
  CHINESE_BUNDLE_KEYS,
  createBundleRegistry,
  DEFAULT_KEY,
  ENGLISH_BUNDLE,
  staticSection,
} from "../../../src/prompts/index.ts";

const own = bundleFromFunctions(() => [staticSection("intro", "Ahoy.")]);
const key = (model_family: string, scenario: string) => ({ model_family, scenario });

// spec: B-1 B-3 B-5
describe("the bundle registry", () => {
  test("has the built-in bundles", () => {
    const registry = createBundleRegistry();
    expect(registry.list()).toEqual([DEFAULT_KEY, ...CHINESE_BUNDLE_KEYS]);
    expect(registry.resolve(key("claude", "programming")).bundle).toBe(ENGLISH_BUNDLE);
  });

  test.each(["qwen", "deepseek", "ernie", "glm", "hunyuan"])("speaks Chinese with %s", (family) => {
    expect(createBundleRegistry().resolve(key(family, "programming")).bundle).toBe(CHINESE_BUNDLE);
  });

  test.each([
    ["gpt", "programming"],
    ["qwen", "warehouse"],
    ["constructor", "programming"],
    ["", ""],
    ["claude/programming", ""],
  ])("falls back to the default for %s and %s", (family, scenario) => {
    expect(createBundleRegistry().resolve(key(family, scenario))).toEqual({ key: DEFAULT_KEY, bundle: ENGLISH_BUNDLE });
  });

  test("takes bundles at run time, in any case, and replaces built-in ones", () => {
    const registry = createBundleRegistry();
    expect(registry.register(key("Qwen", "WareHouse"), own)).toEqual({ ok: true, value: key("qwen", "warehouse") });
    expect(registry.resolve(key("QWEN", "warehouse")).bundle).toBe(own);
    expect(registry.resolve(key("qwen", "programming")).bundle).toBe(CHINESE_BUNDLE);
    registry.register(DEFAULT_KEY, own);
    expect(registry.resolve(key("unknown", "unknown")).bundle).toBe(own);
    expect(createBundleRegistry().resolve(DEFAULT_KEY).bundle).toBe(ENGLISH_BUNDLE);
  });

  test.each([
    [key("", "programming"), "model_family"],
    [key("qwen", "a b"), "scenario"],
    [key("qwen", "x".repeat(65)), "scenario"],
  ])("refuses the key %j, naming the field", (bad, field) => {
    const done = createBundleRegistry().register(bad, own);
    expect(!done.ok && done.error.message).toContain(field);
    expect(() => createBundleRegistry({ bundles: [{ key: bad, bundle: own }] })).toThrow(field);
  });

  test("refuses a bundle with a name twice", () => {
    const twice = bundleFromFunctions(() => [staticSection("intro", "a"), staticSection("intro", "b")]);
    const registry = createBundleRegistry();
    expect(registry.register(DEFAULT_KEY, twice).ok).toBe(false);
    expect(registry.resolve(DEFAULT_KEY).bundle).toBe(ENGLISH_BUNDLE);
  });
});

describe("a bundle key", () => {
  test("is lowered and bounded", () => {
    expect(BundleKey.parse(key("GPT", "x_1-y"))).toEqual(key("gpt", "x_1-y"));
    expect(BundleKey.safeParse(key("qwen", "ü")).success).toBe(false);
    expect(BundleKey.safeParse({ model_family: "qwen" }).success).toBe(false);
  });
});
