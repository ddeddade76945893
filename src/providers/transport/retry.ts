import type { Failure } from "../../contract/failure.ts";
import type { Clock, RetryPolicy } from "./settings.ts";

/**
 * Wait before try `next` (2, 3 …), milliseconds: what the provider asks for, capped, with a little added so that many
 * callers do not return in one instant; else exponential backoff with jitter between half and whole.
 */
export function retryDelayMs(failure: Failure, next: number, policy: RetryPolicy): number {
  const asked = failure.retryAfterMs;
  if (asked !== null && asked !== undefined) {
    const wait = Math.min(asked, policy.retryAfterMaxMs);
    return Math.round(wait + Math.min(wait * 0.1, 1_000) * policy.random());
  }
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** (next - 2));
  return Math.round(ceiling / 2 + (ceiling / 2) * policy.random());
}

/** Resolves after `ms`; rejects with the signal's reason on abort. */
export function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.timer(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
