import type { SessionStatsView } from "../src/contract/sessions.ts";
import { foldStats } from "../src/engine/log/stats.ts";
import type { LoggedEntry } from "./session-store.ts";

/** The figures of a session as the API shows them (P-2). */
export function statsView(sessionId: string, log: Iterable<LoggedEntry>): SessionStatsView {
  const stats = foldStats(entriesOf(log));
  return {
    session_id: sessionId,
    input_tokens: stats.usage.input,
    output_tokens: stats.usage.output,
    cache_read_tokens: stats.usage.cache_read,
    cache_write_tokens: stats.usage.cache_write,
    cost_usd: stats.costNano / 1e9,
    estimated: stats.usageUnknown,
    runs: stats.runs,
    turns: stats.turns,
    messages: stats.messages,
    tool_calls: stats.toolCalls,
    tool_errors: stats.toolErrors,
    denials: stats.denials,
    restarts: stats.restarts,
    errors: stats.errors,
  };
}

function* entriesOf(log: Iterable<LoggedEntry>) {
  for (const { entry } of log) yield entry;
}
