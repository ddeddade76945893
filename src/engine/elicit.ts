import type { ElicitationAnswer, ElicitationQuestion } from "../contract/elicitation.ts";
import type { Commit } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { Agent } from "./agent.ts";
import type { Call } from "./log/run-state.ts";
import { commit } from "./outcomes.ts";
import type { Runnable } from "./run-call.ts";

export const CANCELLED: ElicitationAnswer = { action: "cancel" };

/** Puts a running call's question to whoever watches the session (D-3, E-16); a decision like the others (D-5). */
export function elicited(
  call: Runnable,
  question: ElicitationQuestion,
  { deps }: Agent,
): { readonly id: string; readonly commit: Commit } {
  const id = deps.newId("perm");
  const deadline = deps.now() + deps.limits.permissionTimeoutMs;
  const entry = {
    kind: "decision_asked",
    decision_id: id,
    decision_kind: "elicitation",
    call_id: call.callId,
    tool_name: call.tool.name,
    input: {},
    message: question.message,
    deadline,
    elicitation: question,
  } as const;
  const event = {
    type: "elicitation",
    id,
    ...question,
    tool_call_id: call.callId,
    expires_at: new Date(deadline).toISOString(),
  } as const;
  return { id, commit: commit([entry], [event]) };
}

/** The answer as the log has it; undefined while there is none. */
export function elicitationAnswer(callId: string, decisionId: string, agent: Agent): ElicitationAnswer | undefined {
  const at = agent.fold.run?.calls.find(({ block }) => block.id === callId)?.at;
  // A call that has left the phase can have no answer any more.
  if (at?.phase !== "started" || at.asking?.decisionId !== decisionId) return CANCELLED;
  return at.asking.answer;
}

/** Nobody answers this question any more. */
export function withdrawn(callId: string, decisionId: string, reason: string): EntryOf<"decision_settled"> {
  return { kind: "decision_settled", decision_id: decisionId, call_id: callId, allow: false, reason, by: "cancel" };
}

/** What ends the question that a call has open, when the call ends without its answer. */
export function endQuestion({ block, at }: Call, reason: string): EntryOf<"decision_settled">[] {
  const open = at.phase === "started" && at.asking && !at.asking.answer ? at.asking : undefined;
  return open ? [withdrawn(block.id, open.decisionId, reason)] : [];
}
