import type { Answer } from "../src/contract/refusal.ts";
import type { HistoryMessage, OpenDecision, Page, SessionStatsView } from "../src/contract/sessions.ts";
import { foldStats } from "../src/engine/log/stats.ts";
import { pageOf } from "../src/session/page.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { LoggedEntry, SessionMeta, SessionStore } from "./session-store.ts";

/** Messages a `reset` snapshot carries; older ones are in the history. */
const SNAPSHOT_MESSAGES = 100;

/** What can be asked about a session: views over its log, nothing that changes it. */
export class SessionQueries {
  readonly #store: SessionStore;
  readonly #journal: SessionJournal;

  constructor(store: SessionStore, journal: SessionJournal) {
    this.#store = store;
    this.#journal = journal;
  }

  /** Messages, newest first. */
  history(meta: SessionMeta, limit: number, cursor: string | undefined): Answer<Page<HistoryMessage>> {
    const { fold, places } = this.#journal;
    const all = fold.messages.map((message, index) => {
      const { runId = "", at = 0 } = places[index] ?? {};
      return { id: `msg_${index + 1}`, run_id: runId, created_at: new Date(at).toISOString(), ...message };
    });
    return pageOf(all.reverse(), limit, cursor, meta.incarnation);
  }

  openDecisions(): readonly OpenDecision[] {
    return this.#store.openDecisions().map((decision) => ({
      id: decision.decision_id,
      kind: decision.decision_kind,
      ...(decision.agent === undefined ? {} : { subagent_id: decision.agent }),
      tool_name: decision.tool_name,
      tool_call_id: decision.call_id,
      input: decision.input,
      message: decision.message,
      expires_at: new Date(decision.deadline).toISOString(),
      ...(decision.elicitation ? { server: decision.elicitation.server, fields: decision.elicitation.fields } : {}),
    }));
  }

  /** The figures of the session (P-2). */
  stats(sessionId: string): Omit<SessionStatsView, "git"> {
    const stats = foldStats(entriesOf(this.#store.entries()));
    return {
      session_id: sessionId,
      input_tokens: stats.usage.input,
      output_tokens: stats.usage.output,
      cache_read_tokens: stats.usage.cache_read,
      cache_write_tokens: stats.usage.cache_write,
      cost_usd: stats.costNano / 1e9,
      estimated: stats.estimated,
      runs: stats.runs,
      turns: stats.turns,
      messages: this.#journal.fold.messages.length,
      tool_calls: stats.toolCalls,
      tool_errors: stats.toolErrors,
      denials: stats.denials,
      denied_tools: stats.deniedTools,
      denials_in_a_row: stats.denialsInARow,
      classified: stats.classified,
      classified_allowed: stats.classifiedAllowed,
      compactions: stats.compactions,
      subagents: stats.subagents,
      file_cache_hits: stats.fileCacheHits,
      file_cache_misses: stats.fileCacheMisses,
      todos: stats.todos,
      restarts: stats.restarts,
      errors: stats.errors,
    };
  }

  /**
   * Where things stand, for a client whose place in the events is not kept any more: everything but the turn that is
   * under way, whose events follow.
   */
  snapshot(sessionId: string, running: boolean): Record<string, unknown> {
    const { messages, run } = this.#journal.fold;
    const told = run && !run.turnEnded && run.call === "answered" ? messages.slice(0, -1) : messages;
    return {
      session_id: sessionId,
      message_count: told.length,
      messages: told.slice(-SNAPSHOT_MESSAGES),
      open_permissions: this.openDecisions(),
      running,
    };
  }
}

function* entriesOf(log: Iterable<LoggedEntry>) {
  for (const { entry } of log) yield entry;
}
