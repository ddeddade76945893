import type { DoneReason } from "../../contract/events.ts";
import type { Call, RunState } from "./run-state.ts";

/** What comes next in a run, and nothing about how. */
export type Step =
  | { readonly kind: "idle" }
  /** Make the turn's model call; `again` when it had begun and broke off. */
  | { readonly kind: "sample"; readonly turn: number; readonly again: boolean }
  /** A question is open: nothing happens until its answer or its deadline (milliseconds since the epoch). */
  | { readonly kind: "wait"; readonly deadline: number }
  /** Sub-agents are at work: nothing happens until one of them ends or writes. */
  | { readonly kind: "blocked" }
  /** Tool calls without a result, in call order. */
  | { readonly kind: "settle"; readonly calls: readonly Call[] }
  /** Calls whose sub-agent has ended: its result is theirs. */
  | { readonly kind: "collect"; readonly calls: readonly DelegatedCall[] }
  /** The run was cancelled: these calls get a result that says so. */
  | { readonly kind: "abandon"; readonly calls: readonly Call[] }
  | { readonly kind: "end_turn" }
  | { readonly kind: "compact" }
  | { readonly kind: "finish"; readonly reason: DoneReason };

export type DelegatedCall = Call & { readonly at: { readonly phase: "delegated"; readonly agentId: string } };

/** What a step depends on outside the agent's own run. */
export type Surroundings = {
  /** Whether the sub-agent has ended. */
  ended(agentId: string): boolean;
  /** Sub-agents it started that are at work, in the background or not. */
  readonly working: number;
  /** Messages that wait for its next turn. */
  readonly inbox: number;
  /** What the run has cost so far, sub-agents included; nano-dollars. */
  readonly spentNano: number;
};

export const ALONE: Surroundings = { ended: () => true, working: 0, inbox: 0, spentNano: 0 };

/**
 * The next step of a run, computed from its log alone: the same after an eviction, a crash or a deploy. Pure; reads no
 * clock. (Architecture, idea 1; T-1, T-6.)
 */
export function nextStep(run: RunState | undefined, around: Surroundings = ALONE): Step {
  if (!run || run.outcome) return { kind: "idle" };
  const open = run.calls.filter((call) => call.at.phase !== "finished");
  if (run.cancelled !== undefined) {
    if (open.length > 0) return { kind: "abandon", calls: open };
    return { kind: "finish", reason: "cancelled" };
  }
  if (run.config.task === "compact") return run.compactions > 0 ? finish("end_turn") : { kind: "compact" };
  if (run.call === "open") return { kind: "sample", turn: run.turn, again: true };
  const delegated = open.filter(isDelegated);
  const arrived = delegated.filter((call) => around.ended(call.at.agentId));
  if (arrived.length > 0) return { kind: "collect", calls: arrived };
  // Sub-agents work beside the other calls of the turn; a question holds those back that stand behind it.
  const own = open.filter((call) => !isDelegated(call));
  const first = own[0];
  if (first?.at.phase === "asked") return { kind: "wait", deadline: first.at.deadline };
  if (first) return { kind: "settle", calls: own };
  if (delegated.length > 0) return { kind: "blocked" };
  if (!run.turnEnded) return { kind: "end_turn" };
  return run.turn === 0 ? { kind: "sample", turn: 1, again: false } : afterTurn(run, around);
}

function isDelegated(call: Call): call is DelegatedCall {
  return call.at.phase === "delegated";
}

/** A whole turn is behind: go on, or why not. */
function afterTurn(run: RunState, around: Surroundings): Step {
  const goesOn = run.stop === "tool_use" || run.stop === "pause_turn" || run.calls.length > 0;
  const reason = doneReason(run);
  const listens = reason === "end_turn" || reason === "stop_sequence";
  if (!goesOn && !(listens && around.inbox > 0)) {
    return listens && around.working > 0 ? { kind: "blocked" } : finish(reason);
  }
  if (run.turn >= run.config.max_turns) return finish("max_turns");
  const budget = run.config.max_cost_usd;
  if (budget !== undefined && around.spentNano >= budget * 1e9) return finish("budget");
  return { kind: "sample", turn: run.turn + 1, again: false };
}

function finish(reason: DoneReason): Step {
  return { kind: "finish", reason };
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
