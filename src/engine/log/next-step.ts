import type { DoneReason } from "../../contract/events.ts";
import type { Call, RunState } from "./run-state.ts";

/** What comes next in a run, and nothing about how. */
export type Step =
  | { readonly kind: "idle" }
  /** Make the turn's model call; `again` when it had begun and broke off. */
  | { readonly kind: "sample"; readonly turn: number; readonly again: boolean }
  /** A question is open: nothing happens until its answer or its deadline (milliseconds since the epoch). */
  | { readonly kind: "wait"; readonly deadline: number }
  /** Tool calls without a result, in call order. */
  | { readonly kind: "settle"; readonly calls: readonly Call[] }
  /** The run was cancelled: these calls get a result that says so. */
  | { readonly kind: "abandon"; readonly calls: readonly Call[] }
  | { readonly kind: "end_turn" }
  | { readonly kind: "finish"; readonly reason: DoneReason };

/**
 * The next step of a run, computed from its log alone: the same after an eviction, a crash or a deploy. Pure; reads no
 * clock. (Architecture, idea 1; T-1, T-6.)
 */
export function nextStep(run: RunState | undefined): Step {
  if (!run || run.outcome) return { kind: "idle" };
  const open = run.calls.filter((call) => call.at.phase !== "finished");
  if (run.cancelled !== undefined) {
    if (open.length > 0) return { kind: "abandon", calls: open };
    return { kind: "finish", reason: "cancelled" };
  }
  if (run.call === "open") return { kind: "sample", turn: run.turn, again: true };
  const first = open[0];
  if (first?.at.phase === "asked") return { kind: "wait", deadline: first.at.deadline };
  if (first) return { kind: "settle", calls: open };
  if (!run.turnEnded) return { kind: "end_turn" };
  return run.turn === 0 ? { kind: "sample", turn: 1, again: false } : afterTurn(run);
}

/** A whole turn is behind: go on, or why not. */
function afterTurn(run: RunState): Step {
  const goesOn = run.stop === "tool_use" || run.stop === "pause_turn" || run.calls.length > 0;
  if (!goesOn) return { kind: "finish", reason: doneReason(run) };
  if (run.turn >= run.config.max_turns) return { kind: "finish", reason: "max_turns" };
  const budget = run.config.max_cost_usd;
  if (budget !== undefined && run.costNano >= budget * 1e9) return { kind: "finish", reason: "budget" };
  return { kind: "sample", turn: run.turn + 1, again: false };
}

function doneReason(run: RunState): DoneReason {
  switch (run.stop) {
    case "stop_sequence":
    case "max_tokens":
    case "refusal":
      return run.stop;
    case "context_window":
      return "max_tokens";
    default:
      return "end_turn";
  }
}
