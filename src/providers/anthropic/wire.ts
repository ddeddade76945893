export const ANTHROPIC_VERSION = "2023-06-01";

/**
 * Beta names the reference asks for. Caching and thinking need none any more and unknown names may be refused, so only the
 * two features that are off without one send theirs; a setting of the same header replaces them.
 */
export const BETA_EFFORT = "effort-2025-04-01";
export const BETA_FAST_MODE = "fast-mode-2025-04-01";

/** Models that take `adaptive` thinking and refuse a budget: Opus 4.7, generation 5 and later. */
export function isAdaptive(model: string): boolean {
  return /claude-(?:(?:opus|sonnet|haiku|fable)-(?:[5-9]|\d{2})|opus-4[-.][7-9])(?:$|[-.@])/.test(model);
}
