import type { DoneReason, EngineEvent } from "../contract/events.ts";
import type { Failure } from "../contract/failure.ts";
import type { Commit, Output } from "../contract/journal.ts";
import type { Agent, Crew, Step } from "./agent.ts";
import { collectResults } from "./collect.ts";
import { compact, makeRoom, NOT_SUMMARIZED } from "./compact.ts";
import { composePrompt } from "./compose-prompt.ts";
import type { EngineDeps } from "./deps.ts";
import type { RunState } from "./log/run-state.ts";
import type { AgentId } from "./log/tree.ts";
import { commit, dollars } from "./outcomes.ts";
import { sample } from "./sample.ts";
import { settleTools } from "./settle-tools.ts";
import { noteCost } from "./thresholds.ts";
import { abandonCalls } from "./tool-result.ts";

/** Why an agent's loop let go. */
export type AgentEnd =
  /** Its log calls for its end; asked again before it is stored, because something may have come in. */
  | { readonly kind: "finished"; readonly reason: DoneReason }
  /** It can go on no further. */
  | { readonly kind: "done"; readonly reason: DoneReason }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** It waits: for a person, or for agents it has started. */
  | { readonly kind: "blocked" };

/**
 * The turn loop of one agent (T-1): asks the log what it calls for, does it, yields what came of it, asks again. Comes
 * back as soon as other agents are needed. Throws only when `signal` aborts.
 */
export async function* runAgent(id: AgentId, crew: Crew, signal: AbortSignal): AsyncGenerator<Step, AgentEnd> {
  const { tree, deps } = crew;
  while (true) {
    signal.throwIfAborted();
    const fold = tree.foldOf(id);
    const run = fold?.run;
    const step = tree.step(id);
    if (!fold || !run) return { kind: "blocked" };
    const agent: Agent = { ...crew, id, fold, run, signal };
    const stop =
      step.kind === "sample" || step.kind === "settle" || step.kind === "compact" ? overdue(run, deps) : undefined;
    if (stop) return { kind: "failed", failure: stop };
    switch (step.kind) {
      case "idle":
      case "wait":
      case "blocked":
        return { kind: "blocked" };
      case "sample": {
        const end = yield* modelTurn(step.turn, step.again, agent);
        if (end) return end;
        break;
      }
      case "settle": {
        const others = yield* settleTools(step.calls, agent);
        if (others) return { kind: "blocked" };
        break;
      }
      case "collect":
        yield* collectResults(step.calls, agent);
        break;
      case "abandon": {
        const { entries, events } = abandonCalls(step.calls, run.cancelled ?? "cancelled");
        yield commit(entries, events);
        break;
      }
      case "compact":
        if (!(yield* compact("request", yield* composePrompt(agent))))
          return { kind: "failed", failure: NOT_SUMMARIZED };
        break;
      case "end_turn":
        yield commit([{ kind: "turn_ended", turn: run.turn }], [turnEnd(run)]);
        break;
      case "finish":
        return { kind: "finished", reason: step.reason };
      default:
        step satisfies never;
    }
  }
}

/**
 * A turn's model call with its restarts: a call that broke off after something was shown is taken back and made once more
 * (T-5, E-17); one that did not fit is made again with less to read (C-1). Gives the run's end when it has one.
 */
async function* modelTurn(turn: number, again: boolean, agent: Agent): AsyncGenerator<Output, AgentEnd | undefined> {
  const { fold, signal } = agent;
  const repairs = fold.newRepairs;
  let compaction = fold.lastCompaction;
  let prompted = yield* composePrompt(agent);
  const full = yield* makeRoom(prompted);
  if (full) return { kind: "failed", failure: full };
  yield again ? restarted(turn, "the model call was interrupted") : turnStart(turn, agent);
  if (repairs > 0 && !tellRepairs(repairs, agent)) return { kind: "failed", failure: LOST_RESULT };
  let retried = false;
  let shrunk = false;
  while (true) {
    const run = fold.run;
    if (!run) return undefined;
    // Sections that are computed anew after a compaction are so by now.
    if (fold.lastCompaction === compaction) prompted = { ...prompted, run };
    else prompted = yield* composePrompt({ ...agent, run });
    compaction = fold.lastCompaction;
    const end = yield* sample(prompted);
    if (end.kind === "answered") {
      noteCost(agent);
      return undefined;
    }
    if (end.kind === "unaffordable") return { kind: "done", reason: "budget" };
    signal.throwIfAborted();
    const { failure, shown } = end;
    if (failure.category === "prompt_too_long" && !shrunk) {
      shrunk = true;
      const done = yield* compact("overflow", { ...prompted, run }, failure.tokenGap ?? undefined);
      if (!done) return { kind: "failed", failure };
      if (shown) yield restarted(turn, failure.message);
      continue;
    }
    if (!shown || !failure.retryable || retried) return { kind: "failed", failure };
    retried = true;
    yield restarted(turn, failure.message);
  }
}

/** A history that was repaired before this turn: operators are told; false in strict mode, where the run ends (T-2, O-6). */
function tellRepairs(count: number, { deps }: Agent): boolean {
  deps.observe("tool_result_pairing_repaired", { session_id: deps.sessionId, count });
  return !deps.strict.toolResultPairing;
}

const LOST_RESULT: Failure = {
  category: "internal",
  message: "a tool call of an earlier run had lost its result (strict mode)",
  retryable: false,
};

/** A run that takes its owner down, or never ends, must not be tried for ever (S8). */
function overdue(run: RunState, deps: EngineDeps): Failure | undefined {
  // A model call that is picked up again is one resume and one restart of the turn: counted once.
  if (Math.max(run.resumes, run.turnRestarts) > deps.limits.maxRestarts) return TOO_MANY_RESTARTS;
  return run.config.deadline !== undefined && deps.now() > run.config.deadline ? TOO_OLD : undefined;
}

const TOO_MANY_RESTARTS: Failure = {
  category: "interrupted",
  message: "the run was interrupted too often and is given up",
  retryable: true,
};

const TOO_OLD: Failure = {
  category: "timeout",
  message: "the run has taken longer than a run may (RUN_MAX_SECONDS) and is given up",
  retryable: true,
};

/** The turn begins; messages that came in meanwhile are shown to the model with it. */
function turnStart(turn: number, { fold, run }: Agent): Commit {
  const messages = fold.inbox.map(({ from, text }): EngineEvent => ({ type: "inbox_message", from, text }));
  const start: EngineEvent = { type: "turn_start", turn_number: turn, model: run.config.model };
  return commit([{ kind: "turn_started", turn }], [start, ...messages]);
}

function restarted(turn: number, reason: string): Commit {
  return commit([{ kind: "turn_restarted", turn, reason }], [{ type: "turn_restart", turn_number: turn, reason }]);
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
