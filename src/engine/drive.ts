import type { DoneReason, EngineEvent } from "../contract/events.ts";
import type { Failure } from "../contract/failure.ts";
import type { Commit, Output } from "../contract/journal.ts";
import type { EngineDeps } from "./deps.ts";
import type { SessionFold } from "./log/fold.ts";
import { nextStep } from "./log/next-step.ts";
import type { RunState } from "./log/run-state.ts";
import { sample } from "./sample.ts";
import { abandonCalls, settleTools } from "./settle-tools.ts";

/** Why the loop let go of the run. */
export type DriveEnd =
  /** The run has its one `done` or `error`. */
  | { readonly kind: "ended" }
  /** A question is open; come back with its answer or at the deadline (milliseconds since the epoch). */
  | { readonly kind: "parked"; readonly deadline: number };

/**
 * The turn loop (T-1): asks `nextStep` what the log calls for, does it, yields what came of it, asks again. The host
 * stores each yielded commit and appends its entries to `fold` before the generator goes on, so the loop can begin in the
 * middle of any log. Throws only when `signal` aborts; then the log says where to go on.
 */
export async function* drive(
  fold: SessionFold,
  deps: EngineDeps,
  signal: AbortSignal,
): AsyncGenerator<Output, DriveEnd> {
  while (true) {
    signal.throwIfAborted();
    const run = fold.run;
    const step = nextStep(run);
    if (!run || step.kind === "idle") return { kind: "ended" };
    // A step that takes its owner down with it must not be tried for ever, be it a model call or a tool.
    if ((step.kind === "sample" || step.kind === "settle") && isWornOut(run, deps)) {
      yield failed(TOO_MANY_RESTARTS);
      continue;
    }
    switch (step.kind) {
      case "sample":
        yield* modelTurn(step.turn, step.again, fold, run, deps, signal);
        break;
      case "wait":
        return { kind: "parked", deadline: step.deadline };
      case "settle":
        yield* settleTools(step.calls, fold, run, deps, signal);
        break;
      case "abandon": {
        const { entries, events } = abandonCalls(step.calls, run.cancelled ?? "cancelled");
        yield commit(entries, events);
        break;
      }
      case "end_turn":
        yield commit([{ kind: "turn_ended", turn: run.turn }], [turnEnd(run)]);
        break;
      case "finish":
        yield finished(run, step.reason);
        break;
      default:
        step satisfies never;
    }
  }
}

/** A turn's model call with its restarts: a call that broke off after something was shown is taken back and made once more (T-5, E-17). */
async function* modelTurn(
  turn: number,
  again: boolean,
  fold: SessionFold,
  run: RunState,
  deps: EngineDeps,
  signal: AbortSignal,
): AsyncGenerator<Output, void> {
  yield again
    ? restarted(turn, "the model call was interrupted")
    : commit([{ kind: "turn_started", turn }], [{ type: "turn_start", turn_number: turn, model: run.config.model }]);
  let retried = false;
  while (true) {
    const now = fold.run;
    if (!now) return;
    const end = yield* sample(fold, now, deps, signal);
    if (end.kind === "answered") return;
    signal.throwIfAborted();
    if (!end.shown || !end.failure.retryable || retried) {
      yield failed(end.failure);
      return;
    }
    retried = true;
    yield restarted(turn, end.failure.message);
  }
}

/** A model call that is picked up again is one resume and one restart of the turn: counted once. */
function isWornOut(run: RunState, deps: EngineDeps): boolean {
  return Math.max(run.resumes, run.turnRestarts) > deps.limits.maxRestarts;
}

const TOO_MANY_RESTARTS: Failure = {
  category: "interrupted",
  message: "the run was interrupted too often and is given up",
  retryable: true,
};

function restarted(turn: number, reason: string): Commit {
  return commit([{ kind: "turn_restarted", turn, reason }], [{ type: "turn_restart", turn_number: turn, reason }]);
}

function commit(entries: Commit["entries"], events: readonly EngineEvent[]): Commit {
  return { kind: "commit", entries, events, audit: [] };
}

/** The run's one `error` (E-12). Exported for hosts that must end a run they cannot drive. */
export function failed(failure: Failure): Commit {
  return commit(
    [
      {
        kind: "run_ended",
        outcome: { type: "error", category: failure.category, message: failure.message, retryable: failure.retryable },
      },
    ],
    [
      {
        type: "error",
        error: failure.message,
        category: failure.category,
        retryable: failure.retryable,
        ...(failure.hint === undefined ? {} : { hint: failure.hint }),
      },
    ],
  );
}

function finished(run: RunState, reason: DoneReason): Commit {
  const { usage } = run;
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
        cost_usd: dollars(run.costNano),
        turn_count: run.turn,
        stop_reason: reason,
      },
    ],
  );
}

function turnEnd(run: RunState): EngineEvent {
  return {
    type: "turn_end",
    turn_number: run.turn,
    input_tokens: run.turnUsage.input,
    output_tokens: run.turnUsage.output,
    cache_read_tokens: run.turnUsage.cache_read,
    cache_write_tokens: run.turnUsage.cache_write,
    cost_usd: dollars(run.turnCostNano),
  };
}

function dollars(nano: number): number {
  return nano / 1e9;
}
