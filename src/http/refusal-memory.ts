/** Keys kept at most; a flood from more clients than this falls back to asking the limiter. */
const MAX_KEYS = 10_000;

export type RefusalMemory = {
  /** Milliseconds until the key may try again, or 0 when nothing is known (then the limiter must be asked). */
  wait(key: string, now: number, maxAgeMs: number): number;
  remember(key: string, now: number, retryAfterMs: number): void;
  forget(key: string): void;
};

/**
 * What the limiter refused, kept in this isolate until the retry time: a flood then costs no hop (decisions 12). Belongs
 * to one app, holds no secrets. `maxAgeMs` is how old a refusal may be: a charge may have been taken back since.
 */
export function createRefusalMemory(): RefusalMemory {
  const refusals = new Map<string, { readonly at: number; readonly until: number }>();
  return {
    wait(key, now, maxAgeMs) {
      const refusal = refusals.get(key);
      if (!refusal) return 0;
      if (now < refusal.until && now - refusal.at < maxAgeMs) return refusal.until - now;
      refusals.delete(key);
      return 0;
    },
    remember(key, now, retryAfterMs) {
      if (refusals.size >= MAX_KEYS && !refusals.has(key)) {
        for (const oldest of refusals.keys()) {
          refusals.delete(oldest);
          break;
        }
      }
      refusals.set(key, { at: now, until: now + retryAfterMs });
    },
    forget(key) {
      refusals.delete(key);
    },
  };
}
