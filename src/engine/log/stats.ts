import type { TodoItem } from "../../contract/facts.ts";
import type { Entry, EntryOf } from "../../contract/log.ts";
import { NO_USAGE, type Usage } from "../../contract/model.ts";
import { addUsage } from "./run-state.ts";

/** Figures of a session (P-2). Money in nano-dollars. */
export type SessionStats = {
  readonly usage: Usage;
  readonly costNano: number;
  /** A call reported no usage or broke off before it did (the sums are too low), or its model's price is a guess. */
  readonly estimated: boolean;
  readonly runs: number;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  readonly denials: number;
  /** Denials by tool. */
  readonly deniedTools: Readonly<Record<string, number>>;
  /** Denials since the last call that was let through. */
  readonly denialsInARow: number;
  /** Questions the classifier looked at, and those it answered. */
  readonly classified: number;
  readonly classifiedAllowed: number;
  readonly compactions: number;
  readonly subagents: number;
  /** Times a tool saw a file as the session knew it already, and times it did not. */
  readonly fileCacheHits: number;
  readonly fileCacheMisses: number;
  readonly todos: readonly TodoItem[];
  readonly restarts: number;
  readonly errors: number;
};

const EMPTY: SessionStats = {
  usage: NO_USAGE,
  costNano: 0,
  estimated: false,
  runs: 0,
  turns: 0,
  toolCalls: 0,
  toolErrors: 0,
  denials: 0,
  deniedTools: {},
  denialsInARow: 0,
  classified: 0,
  classifiedAllowed: 0,
  compactions: 0,
  subagents: 0,
  fileCacheHits: 0,
  fileCacheMisses: 0,
  todos: [],
  restarts: 0,
  errors: 0,
};

/** A fold over the whole log. A fork's inherited part is never its spend (decisions 2). */
export function foldStats(entries: Iterable<Entry>): SessionStats {
  const known: Known = { tools: new Map(), files: new Map(), uncounted: new Set(), resumed: false };
  let stats = EMPTY;
  for (const entry of entries) stats = step(stats, entry, known);
  return stats;
}

/** What later entries refer to: tools by call, digests by file, agents whose model call nobody has counted yet. */
type Known = {
  readonly tools: Map<string, string>;
  readonly files: Map<string, string>;
  readonly uncounted: Set<string | undefined>;
  /** The run was picked up again, and the call that had broken off for that is still to be made anew. */
  resumed: boolean;
};

function step(stats: SessionStats, entry: Entry, known: Known): SessionStats {
  switch (entry.kind) {
    case "run_started":
      if (entry.agent !== undefined) return { ...stats, subagents: stats.subagents + 1 };
      return { ...stats, runs: stats.runs + (entry.config.task === "compact" ? 0 : 1) };
    case "turn_started":
      known.uncounted.add(entry.agent);
      return { ...stats, turns: stats.turns + (entry.agent === undefined ? 1 : 0) };
    case "assistant":
      return answer(stats, entry, known);
    case "call_failed":
      known.uncounted.delete(entry.agent);
      return spent(stats, entry);
    case "classified":
      return {
        ...spent(stats, entry),
        classified: stats.classified + 1,
        classifiedAllowed: stats.classifiedAllowed + (entry.decision === "allow" ? 1 : 0),
      };
    case "compacted":
      return { ...spent(stats, entry), compactions: stats.compactions + 1 };
    case "tool_finished":
      return result(stats, entry, known);
    case "turn_restarted": {
      const estimated = stats.estimated || known.uncounted.has(entry.agent);
      known.uncounted.add(entry.agent);
      // An interruption and the call it broke are one.
      const counted = known.resumed;
      known.resumed = false;
      return { ...stats, estimated, restarts: stats.restarts + (counted ? 0 : 1) };
    }
    case "run_resumed":
      known.resumed = true;
      return { ...stats, restarts: stats.restarts + 1 };
    case "run_ended": {
      const failed = entry.outcome.type === "error" && entry.agent === undefined;
      const estimated = stats.estimated || known.uncounted.delete(entry.agent);
      return { ...stats, estimated, errors: stats.errors + (failed ? 1 : 0) };
    }
    case "forked":
      return { ...EMPTY, todos: stats.todos };
    default:
      return stats;
  }
}

/** Sub-agents spend and call tools like the session's own agent. */
function answer(stats: SessionStats, entry: EntryOf<"assistant">, known: Known): SessionStats {
  const calls = entry.content.filter((block) => block.type === "tool_use");
  for (const call of calls) known.tools.set(keyOf(entry.agent, call.id), call.name);
  known.uncounted.delete(entry.agent);
  known.resumed = false;
  return {
    ...spent(stats, entry),
    estimated: stats.estimated || entry.usage === null || entry.cost_estimated === true,
    toolCalls: stats.toolCalls + calls.length,
  };
}

function spent(stats: SessionStats, entry: { usage: Usage | null; cost_nano: number }): SessionStats {
  return {
    ...stats,
    usage: addUsage(stats.usage, entry.usage ?? NO_USAGE),
    costNano: stats.costNano + entry.cost_nano,
  };
}

function result(stats: SessionStats, entry: EntryOf<"tool_finished">, known: Known): SessionStats {
  const tool = known.tools.get(keyOf(entry.agent, entry.call_id)) ?? "";
  const denied = entry.denied === true;
  const count = stats.deniedTools[tool] ?? 0;
  let { todos, fileCacheHits: hits, fileCacheMisses: misses } = stats;
  for (const fact of entry.facts ?? []) {
    if (fact.kind === "todos") todos = fact.items;
    if (fact.kind !== "file_seen") continue;
    if (known.files.get(fact.path) === fact.digest) hits++;
    else misses++;
    known.files.set(fact.path, fact.digest);
  }
  return {
    ...stats,
    toolErrors: stats.toolErrors + (entry.is_error ? 1 : 0),
    denials: stats.denials + (denied ? 1 : 0),
    deniedTools: denied ? { ...stats.deniedTools, [tool]: count + 1 } : stats.deniedTools,
    denialsInARow: denied ? stats.denialsInARow + 1 : entry.skipped ? stats.denialsInARow : 0,
    ...{ fileCacheHits: hits, fileCacheMisses: misses, todos },
  };
}

function keyOf(agent: string | undefined, callId: string): string {
  return `${agent ?? ""} ${callId}`;
}
