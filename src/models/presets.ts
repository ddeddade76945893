import type { ModelInfo } from "../contract/model.ts";

/** Window of a model nobody registered. */
export const DEFAULT_WINDOW = 200_000;

type Prices = readonly [input: number, output: number, cacheRead: number, cacheWrite: number];

/** Sonnet's prices stand in where none are known. */
export const SONNET_PRICES: Prices = [3, 15, 0.3, 3.75];

/** A model's metadata; `can` holds a letter for each capability: c caching, t thinking, i images. */
export function preset(
  id: string,
  name: string,
  provider: string,
  window: number,
  output: number,
  prices: Prices,
  can: string,
  estimated = false,
): ModelInfo {
  const [input, out, read, write] = prices;
  return {
    id,
    display_name: name,
    provider,
    context_window: window,
    max_output_tokens: output,
    input_price_per_1m: input,
    output_price_per_1m: out,
    cache_read_price_per_1m: read,
    cache_write_price_per_1m: write,
    supports_caching: can.includes("c"),
    supports_thinking: can.includes("t"),
    supports_images: can.includes("i"),
    ...(estimated ? { estimated: true } : {}),
  };
}

/**
 * Models known without configuration: the reference's values (R-7, provider-protocols 10). Gemini bills no cache writes by the token; its cache reads are taken at a quarter, the dearest rate named.
 */
export const PRESETS: readonly ModelInfo[] = [
  preset("claude-opus-4-6", "Claude Opus 4.6", "anthropic", 200_000, 16_384, [15, 75, 1.5, 18.75], "cti"),
  preset("claude-sonnet-4-6", "Claude Sonnet 4.6", "anthropic", 200_000, 16_384, SONNET_PRICES, "cti"),
  preset("claude-haiku-4-5", "Claude Haiku 4.5", "anthropic", 200_000, 16_384, [0.8, 4, 0.08, 1], "ci"),
  preset("claude-haiku-3-5", "Claude Haiku 3.5", "anthropic", 200_000, 8_192, SONNET_PRICES, "ci", true),
  preset("claude-3-5-haiku", "Claude 3.5 Haiku", "anthropic", 200_000, 8_192, SONNET_PRICES, "ci", true),
  preset("claude-3-5-sonnet", "Claude 3.5 Sonnet", "anthropic", 200_000, 8_192, SONNET_PRICES, "ci", true),
  preset("claude-3-opus", "Claude 3 Opus", "anthropic", 200_000, 4_096, SONNET_PRICES, "ci", true),
  preset("gemini-2.5-pro", "Gemini 2.5 Pro", "gemini", 1_000_000, 65_536, [1.25, 10, 0.3125, 0], "cti"),
  preset("gemini-2.5-flash", "Gemini 2.5 Flash", "gemini", 1_000_000, 65_536, [0.15, 0.6, 0.0375, 0], "cti"),
  preset(
    "gemini-2.5-flash-thinking-exp",
    "Gemini 2.5 Flash Thinking",
    "gemini",
    1_000_000,
    65_536,
    [0.15, 0.6, 0.0375, 0],
    "cti",
  ),
  preset("MiniMax-M2.7", "MiniMax M2.7", "minimax", 204_800, 65_536, SONNET_PRICES, "ct", true),
  preset("llama3.3:latest", "Llama 3.3", "ollama", 128_000, 8_192, [0, 0, 0, 0], ""),
  preset("demo", "Demo (no model)", "demo", DEFAULT_WINDOW, 8_192, [0, 0, 0, 0], ""),
];

/** Providers whose models cost nothing (decisions 13). */
export const FREE_PROVIDERS: ReadonlySet<string> = new Set(["ollama", "lmstudio", "demo"]);
