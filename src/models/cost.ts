import type { ModelInfo, Usage } from "../contract/model.ts";

/** Nano-dollars in a dollar. */
export const NANO = 1_000_000_000;

/**
 * What a call costs in integer nano-dollars, rounded once (decisions 13). A price of 1 USD per 1M tokens is 1,000 nano-dollars
 * a token.
 */
export function costNano(info: ModelInfo, usage: Usage): number {
  const perMillion =
    usage.input * info.input_price_per_1m +
    usage.output * info.output_price_per_1m +
    usage.cache_read * info.cache_read_price_per_1m +
    usage.cache_write * info.cache_write_price_per_1m;
  return Math.round(perMillion * 1_000);
}
