import type { ModelOverrides } from "./overrides.ts";

/**
 * Prices and windows read from the vendors' pages in autumn 2026 (provider-protocols 10, "Now"). Not the defaults: pass them
 * as overrides after reading them again. Tiers beyond the first are not told apart here.
 */
export const PRICES_2026_AUTUMN: ModelOverrides = {
  "claude-opus-4-6": row(1_000_000, 128_000, 5, 25, 0.5, 6.25),
  "claude-sonnet-4-6": row(1_000_000, 128_000, 3, 15, 0.3, 3.75),
  "claude-haiku-4-5": { ...row(200_000, 64_000, 1, 5, 0.1, 1.25), supports_thinking: true },
  "claude-opus-5": row(1_000_000, 128_000, 5, 25, 0.5, 6.25),
  "claude-opus-5-5": row(1_000_000, 128_000, 4, 20, 0.4, 5),
  "claude-sonnet-5": row(1_000_000, 128_000, 2, 10, 0.2, 2.5),
  "claude-sonnet-5-5": row(1_000_000, 128_000, 2, 10, 0.2, 2.5),
  "gpt-5.5": row(272_000, 128_000, 5, 30, 0.5, 0),
  "gpt-5.4": row(272_000, 128_000, 2.5, 15, 0.25, 0),
  "gpt-5.4-mini": row(272_000, 128_000, 0.75, 4.5, 0.075, 0),
  "gpt-5.4-nano": row(272_000, 128_000, 0.2, 1.25, 0.02, 0),
  "gpt-4.1": row(1_000_000, 32_768, 2, 8, 0.5, 0),
  "gpt-4o": row(128_000, 16_384, 2.5, 10, 1.25, 0),
  "gpt-4o-mini": row(128_000, 16_384, 0.15, 0.6, 0.075, 0),
  "gemini-2.5-flash": row(1_000_000, 65_536, 0.3, 2.5, 0.075, 0),
  "MiniMax-M2.7": row(204_800, 65_536, 0.3, 1.2, 0.06, 0.375),
  "MiniMax-M3": row(1_000_000, 65_536, 0.3, 1.2, 0.06, 0),
};

function row(
  window: number,
  output: number,
  input: number,
  out: number,
  read: number,
  write: number,
): ModelOverrides[string] {
  return {
    context_window: window,
    max_output_tokens: output,
    input_price_per_1m: input,
    output_price_per_1m: out,
    cache_read_price_per_1m: read,
    cache_write_price_per_1m: write,
  };
}
