import { describe, expect, test } from "vitest";
import { createModelRegistry, PRICES_2026_AUTUMN } from "../../../src/models/index.ts";

// spec: R-5 R-6 R-7
describe("model registry", () => {
  test("estimates the reference's examples to the digit", () => {
    const registry = createModelRegistry();
    expect(registry.estimateCost("claude-sonnet-4-6", 100_000, 10_000, 50_000, 20_000)).toBe(0.54);
    expect(registry.estimateSimpleCost("claude-sonnet-4-6", 100_000, 10_000)).toBe(0.45);
    expect(registry.estimateSimpleCost("claude-haiku-4-5", 100_000, 10_000)).toBe(0.12);
  });

  test.each([
    ["claude-opus-4-6", 15, 75, 1.5, 18.75],
    ["claude-sonnet-4-6", 3, 15, 0.3, 3.75],
    ["claude-haiku-4-5", 0.8, 4, 0.08, 1],
  ])("%s has the reference's prices", (model, input, output, read, write) => {
    expect(createModelRegistry().getConfig(model)).toMatchObject({
      input_price_per_1m: input,
      output_price_per_1m: output,
      cache_read_price_per_1m: read,
      cache_write_price_per_1m: write,
    });
  });

  test.each([
    ["gemini-2.5-pro", 1.25, 10],
    ["gemini-2.5-flash", 0.15, 0.6],
    ["gemini-2.5-flash-thinking-exp", 0.15, 0.6],
  ])("%s has the reference's prices and window", (model, input, output) => {
    const info = createModelRegistry().getConfig(model);
    expect(info).toMatchObject({ input_price_per_1m: input, output_price_per_1m: output, context_window: 1_000_000 });
  });

  test("has the reference's capabilities", () => {
    const registry = createModelRegistry();
    expect(registry.getConfig("claude-sonnet-4-6")).toMatchObject({
      context_window: 200_000,
      max_output_tokens: 16_384,
      supports_caching: true,
      supports_thinking: true,
      supports_images: true,
    });
    for (const model of ["claude-haiku-4-5", "claude-haiku-3-5", "claude-3-5-sonnet", "claude-3-opus"]) {
      expect(registry.getConfig(model)).toMatchObject({
        supports_caching: true,
        supports_thinking: false,
        supports_images: true,
      });
    }
  });

  test("gives an unknown model the default window and Sonnet's prices, marked as an estimate", () => {
    const registry = createModelRegistry();
    expect(registry.contextWindow("unknown-model")).toBe(200_000);
    expect(registry.getConfig("unknown-model")).toMatchObject({
      estimated: true,
      input_price_per_1m: 3,
      output_price_per_1m: 15,
    });
    expect(registry.estimateSimpleCost("unknown-model", 1_000_000, 0)).toBe(3);
  });

  test("costs nothing on local servers and the demo", () => {
    const registry = createModelRegistry();
    const usage = { input: 1_000_000, output: 1_000_000, cache_read: 0, cache_write: 0 };
    for (const provider of ["ollama", "lmstudio", "demo"])
      expect(registry.costNano(registry.info("any", provider), usage)).toBe(0);
  });

  test("keeps money in integer nano-dollars", () => {
    const registry = createModelRegistry();
    const usage = { input: 1, output: 1, cache_read: 1, cache_write: 1 };
    expect(registry.costNano(registry.info("claude-haiku-4-5"), usage)).toBe(800 + 4_000 + 80 + 1_000);
  });

  test("has the default roles and lets them be set to models nobody registered", () => {
    const registry = createModelRegistry({ roles: { fast: "my-fast" } });
    expect([
      registry.getRole("main"),
      registry.getRole("fast"),
      registry.getRole("thinking"),
      registry.getRole("embed"),
    ]).toEqual(["claude-sonnet-4-6", "my-fast", "claude-sonnet-4-6", undefined]);
    registry.setRole("main", "claude-opus-4-6");
    expect(registry.getConfigForRole("main")?.id).toBe("claude-opus-4-6");
    expect(registry.getConfigForRole("embed")).toBeUndefined();
  });

  test("registers a model, and one registry does not see another's", () => {
    const registry = createModelRegistry();
    registry.register({
      ...registry.getConfig("x"),
      id: "my-custom-model",
      context_window: 128_000,
      input_price_per_1m: 1,
      output_price_per_1m: 5,
    });
    expect(registry.contextWindow("my-custom-model")).toBe(128_000);
    expect(createModelRegistry().contextWindow("my-custom-model")).toBe(200_000);
  });

  test("takes overrides as JSON text and refuses misspelt ones by name", () => {
    const registry = createModelRegistry({
      overrides: '{"claude-haiku-4-5":{"input_price_per_1m":1},"new":{"input_price_per_1m":2,"output_price_per_1m":4}}',
    });
    expect(registry.getConfig("claude-haiku-4-5")).toMatchObject({ input_price_per_1m: 1, output_price_per_1m: 4 });
    expect(registry.getConfig("new").estimated).toBeUndefined();
    expect(() => createModelRegistry({ overrides: "{" })).toThrow("MODEL_OVERRIDES");
    expect(() => createModelRegistry({ overrides: '{"m":{"price":1}}' })).toThrow(/MODEL_OVERRIDES.*price/);
  });

  test("knows dated and routed ids", () => {
    const registry = createModelRegistry({ overrides: PRICES_2026_AUTUMN });
    expect(registry.getConfig("claude-opus-4-6-20260201").input_price_per_1m).toBe(5);
    expect(registry.getConfig("anthropic/claude-opus-4-6").input_price_per_1m).toBe(5);
    expect(registry.getConfig("anthropic/claude-opus-4.6:beta").input_price_per_1m).toBe(5);
    expect(registry.getConfig("claude-opus-4-6@20260201").input_price_per_1m).toBe(5);
    expect(registry.getConfig("gpt-4o-2024-08-06").input_price_per_1m).toBe(2.5);
  });
});
