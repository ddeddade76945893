import { newId } from "../src/compose/bindings.ts";
import type { AuditEntry } from "../src/contract/audit.ts";
import type { Entry } from "../src/contract/log.ts";
import type { SessionTree } from "../src/engine/log/tree.ts";
import { approvalEntry } from "./approval-entry.ts";
import type { SessionStore } from "./session-store.ts";

export type Ending = {
  /** Both as they stand before the entries are appended. */
  readonly store: SessionStore;
  readonly tree: SessionTree;
  readonly runId: string;
  readonly entries: readonly Entry[];
  /** Milliseconds since the epoch. */
  readonly now: number;
};

type OpenQuestion = ReturnType<SessionStore["openDecisions"]>[number];

/**
 * The audit of the open questions that these entries end without a person's answer: by time (T-4), by a cancel, with
 * their call or their run (S-4, D-5). An answer brings its own entry.
 */
export function unansweredQuestions({ store, tree, runId, entries, now }: Ending): AuditEntry[] {
  const last = entries.filter((entry) => entry.kind === "run_ended" || isWithdrawal(entry));
  if (last.length === 0) return [];
  const sessionId = store.meta()?.sessionId ?? "";
  const cancelled = tree.root.run?.cancelled;
  const over = cancelled === undefined ? "the run ended first" : `the run was cancelled first: ${cancelled}`;
  return store.openDecisions().flatMap((asked) => {
    const end = last.find((entry) => ends(entry, asked, runId));
    if (!end) return [];
    const reason = end.kind === "decision_settled" ? end.reason : `nobody answered, ${over}`;
    const run = tree.foldOf(asked.agent)?.run;
    const nothing = { digest: undefined, resource: undefined };
    return [
      approvalEntry({ id: newId("aud"), sessionId, asked, settled: { allow: false, reason }, ...nothing, run, now }),
    ];
  });
}

function isWithdrawal(entry: Entry): boolean {
  return entry.kind === "decision_settled" && entry.by !== "user";
}

/** A run takes along the questions of its sub-agents, a sub-agent its own. */
function ends(entry: Entry, asked: OpenQuestion, runId: string): boolean {
  if (entry.kind === "decision_settled") return entry.decision_id === asked.decision_id;
  if (entry.kind !== "run_ended") return false;
  return entry.agent === undefined ? asked.runId === runId : asked.agent === entry.agent;
}
