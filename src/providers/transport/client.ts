import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelRequest, Usage } from "../../contract/model.ts";
import { runAttempt } from "./attempt.ts";
import { retryDelayMs, sleep } from "./retry.ts";
import type { Transport } from "./settings.ts";
import type { Wire } from "./wire.ts";

/**
 * One model call with its retries (T-5, R-4). A try is repeated only while nothing was shown; after the first event a
 * failure is the last event and the loop decides. Input that fits but for its `max_tokens` is sent once more with fewer.
 * Never throws but for an abort of `signal`.
 */
export async function* callModel(
  transport: Transport,
  wire: Wire,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  const endAt = transport.clock.now() + transport.limits.totalMs;
  let current = request;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const outcome = yield* runAttempt(transport, wire, current, endAt, signal);
    if (!outcome.failure) return;
    const { failure, shown } = outcome;
    if (!shown) {
      const lowered = current === request ? (transport.overflowHandler ?? lowerMaxTokens)(current, failure) : undefined;
      if (lowered) {
        current = lowered;
        continue;
      }
      const wait = retryDelayMs(failure, attempt + 1, transport.retry);
      if (failure.retryable && attempt < transport.retry.tries && transport.clock.now() + wait < endAt) {
        await sleep(wait, transport.clock, signal);
        continue;
      }
    }
    yield [...outcome.rest, failed(failure, outcome.usage)];
    return;
  }
}

/** Room kept free below the limit: token counts of an answer to "too much" are estimates on some servers. */
const MARGIN = 16;

/** The overflow handler: a smaller `max_tokens`, if the provider says how much fits and that is worth a call. */
export function lowerMaxTokens(request: ModelRequest, failure: Failure): ModelRequest | undefined {
  const available = failure.maxTokensAvailable;
  if (available === undefined || available >= request.maxTokens || available <= MARGIN * 2) return undefined;
  const maxTokens = failure.category === "max_tokens_overflow" ? available - MARGIN : available;
  return { ...request, maxTokens };
}

function failed(failure: Failure, usage: Usage | null): ModelEvent {
  return usage ? { type: "failed", failure, usage } : { type: "failed", failure };
}
