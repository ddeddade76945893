import type { LimiterPort } from "../src/contract/sessions.ts";

/** What is used of the namespace binding of `RateLimiter`. */
export type LimiterNamespace = {
  getByName(name: string): {
    take(limit: number): Promise<{ readonly allowed: boolean; readonly retryAfterMs: number }>;
    giveBack(): Promise<void>;
  };
};

/** The platform says of a failed call whether it may be made again; an overloaded object must be left alone. */
function mayRetry(error: unknown): boolean {
  const flags = error as { readonly retryable?: boolean; readonly overloaded?: boolean } | null;
  return flags?.retryable === true && flags.overloaded !== true;
}

/** The limiter over one object per key (H-14). A call that failed on the way is made once more, on a new stub. */
export function createObjectLimiter(namespace: LimiterNamespace): LimiterPort {
  return {
    async take(key, limit) {
      try {
        return await namespace.getByName(key).take(limit);
      } catch (error) {
        if (!mayRetry(error)) throw error;
        return await namespace.getByName(key).take(limit);
      }
    },
    async giveBack(key) {
      // Never worth failing a request: a charge that stays only counts one call twice.
      await namespace
        .getByName(key)
        .giveBack()
        .catch(() => {});
    },
  };
}
