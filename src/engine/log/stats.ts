import type { Entry } from "../../contract/log.ts";
import { NO_USAGE, type Usage } from "../../contract/model.ts";
import { addUsage } from "./run-state.ts";

/** Figures of a session (P-2). Money in nano-dollars. */
export type SessionStats = {
  readonly usage: Usage;
  readonly costNano: number;
  /** A call reported no usage (the sums are too low), or its model's price is a guess. */
  readonly estimated: boolean;
  readonly runs: number;
  readonly turns: number;
  readonly messages: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  readonly denials: number;
  readonly restarts: number;
  readonly errors: number;
};

const EMPTY: SessionStats = {
  usage: NO_USAGE,
  costNano: 0,
  estimated: false,
  runs: 0,
  turns: 0,
  messages: 0,
  toolCalls: 0,
  toolErrors: 0,
  denials: 0,
  restarts: 0,
  errors: 0,
};

/** A fold over the whole log. A fork's inherited part counts as messages only, never as its spend (decisions 2). */
export function foldStats(entries: Iterable<Entry>): SessionStats {
  let stats = EMPTY;
  for (const entry of entries) stats = step(stats, entry);
  return stats;
}

function step(stats: SessionStats, entry: Entry): SessionStats {
  switch (entry.kind) {
    case "run_started":
      return { ...stats, runs: stats.runs + 1 };
    case "user":
      return { ...stats, messages: stats.messages + 1 };
    case "assistant": {
      const calls = entry.content.filter((block) => block.type === "tool_use").length;
      return {
        ...stats,
        usage: addUsage(stats.usage, entry.usage ?? NO_USAGE),
        estimated: stats.estimated || entry.usage === null || entry.cost_estimated === true,
        costNano: stats.costNano + entry.cost_nano,
        turns: stats.turns + 1,
        // The calls' results are one message of their own.
        messages: stats.messages + (calls > 0 ? 2 : 1),
        toolCalls: stats.toolCalls + calls,
      };
    }
    case "tool_finished":
      return {
        ...stats,
        toolErrors: stats.toolErrors + (entry.is_error ? 1 : 0),
        denials: stats.denials + (entry.denied ? 1 : 0),
      };
    case "turn_restarted":
    case "run_resumed":
      return { ...stats, restarts: stats.restarts + 1 };
    case "run_ended":
      return { ...stats, errors: stats.errors + (entry.outcome.type === "error" ? 1 : 0) };
    case "forked":
      return { ...EMPTY, messages: stats.messages };
    default:
      return stats;
  }
}
