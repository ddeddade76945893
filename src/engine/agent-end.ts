import type { EngineEvent } from "../contract/events.ts";
import type { Commit } from "../contract/journal.ts";
import type { Entry } from "../contract/log.ts";
import { ofAgent, owned } from "./agent-events.ts";
import type { SessionFold } from "./log/fold.ts";
import type { Outcome, RunState } from "./log/run-state.ts";
import type { SessionTree } from "./log/tree.ts";
import { commit } from "./outcomes.ts";
import { abandonCalls } from "./tool-result.ts";

/** Bytes of a result in `subagent_end` (E-15). */
const RESULT_BYTES = 2048;

/** How a sub-agent ended, for whoever started it. */
export type AgentReport = {
  readonly status: "completed" | "failed" | "cancelled";
  /** What it said last; empty when it said nothing. */
  readonly result: string;
  readonly error: string | undefined;
};

export function reportOf(fold: SessionFold, outcome: Outcome): AgentReport {
  const result = lastWords(fold);
  if (outcome.type === "error") return { status: "failed", result, error: outcome.message };
  if (outcome.stop_reason === "cancelled") return { status: "cancelled", result, error: undefined };
  const whole = outcome.stop_reason === "end_turn" || outcome.stop_reason === "stop_sequence";
  if (whole) return { status: "completed", result, error: undefined };
  return { status: "failed", result, error: `it was stopped: ${outcome.stop_reason}` };
}

/** The end of a sub-agent: its last entry, `subagent_end`, and a message to whoever did not wait for it. */
export function agentEnded(id: string, fold: SessionFold, run: RunState, last: Commit, now: number): Commit {
  const entries: Entry[] = last.entries.map((entry) => owned(entry, id));
  const ended = last.entries.find((entry) => entry.kind === "run_ended");
  if (!ended) throw new Error("a run's last commit ends it");
  const report = reportOf(fold, ended.outcome);
  const agent = run.config.agent;
  if (agent?.background && report.status !== "cancelled") {
    const text = [report.error && `error: ${report.error}`, report.result].filter(Boolean).join("\n");
    entries.push({
      kind: "inbox",
      from: agent.name ?? id,
      text: text === "" ? "(it ended without a word)" : text,
      ...(agent.parent === undefined ? {} : { agent: agent.parent }),
    });
  }
  return { ...last, entries, events: [endEvent(id, run, report, now)] };
}

/** Ends all sub-agents that still work, or those below one of them; the deepest first. */
export function* cancelAgents(tree: SessionTree, now: number, ancestor?: string): Generator<Commit> {
  const reason = tree.root.run?.cancelled ?? "the agent that started it has ended";
  for (const id of tree.working(ancestor).reverse()) {
    const fold = tree.foldOf(id);
    if (fold) yield agentCancelled(id, fold, reason, now);
  }
}

/** Ends a sub-agent whose run is over for other reasons than its own: every call paired, `subagent_end` sent. */
function agentCancelled(id: string, fold: SessionFold, reason: string, now: number): Commit {
  const run = fold.run;
  if (!run || run.outcome) return commit([], []);
  const open = run.calls.filter((call) => call.at.phase !== "finished");
  const { entries, events } = abandonCalls(open, reason);
  const outcome = { type: "done", stop_reason: "cancelled" } as const;
  const all: Entry[] = [...entries, { kind: "run_ended", outcome }];
  const shown = ofAgent(commit(all, events), id);
  return commit(
    all.map((entry) => owned(entry, id)),
    [...shown.events, endEvent(id, run, reportOf(fold, outcome), now)],
  );
}

function endEvent(id: string, run: RunState, report: AgentReport, now: number): EngineEvent {
  return {
    type: "subagent_end",
    subagent_id: id,
    duration_ms: Math.max(0, now - (run.config.agent?.started_at ?? now)),
    status: report.status,
    ...(report.result === "" ? {} : { result: cut(report.result) }),
    ...(report.error === undefined ? {} : { error: report.error }),
  };
}

function lastWords(fold: SessionFold): string {
  const last = fold.messages.findLast((message) => message.role === "assistant");
  return (last?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function cut(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= RESULT_BYTES) return text;
  let end = RESULT_BYTES;
  // Never in the middle of a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${new TextDecoder().decode(bytes.subarray(0, end))}...`;
}
