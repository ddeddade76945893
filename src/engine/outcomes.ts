import type { DoneReason, EngineEvent } from "../contract/events.ts";
import type { Failure } from "../contract/failure.ts";
import type { Commit } from "../contract/journal.ts";
import type { Spend } from "./log/tree.ts";

/** A commit without audit. */
export function commit(entries: Commit["entries"], events: readonly EngineEvent[]): Commit {
  return { kind: "commit", entries, events, audit: [] };
}

/** The run's one `error` (E-12). Exported for hosts that must end a run they cannot drive. */
export function failed(failure: Failure): Commit {
  const { category, message, retryable } = failure;
  const hint = failure.hint === undefined ? {} : { hint: failure.hint };
  return commit(
    [{ kind: "run_ended", outcome: { type: "error", category, message, retryable } }],
    [{ type: "error", error: message, category, retryable, ...hint }],
  );
}

/** The run's one `done` (E-11). */
export function finished({ usage, costNano }: Spend, turns: number, reason: DoneReason): Commit {
  return commit(
    [{ kind: "run_ended", outcome: { type: "done", stop_reason: reason } }],
    [
      {
        type: "done",
        total_input_tokens: usage.input,
        total_output_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
        cost_usd: dollars(costNano),
        turn_count: turns,
        stop_reason: reason,
      },
    ],
  );
}

export const DEADLOCK: Failure = {
  category: "internal",
  message: "the run waits for an agent that is not there",
  retryable: false,
};

export function dollars(nano: number): number {
  return nano / 1e9;
}
