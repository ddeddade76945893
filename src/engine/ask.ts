import type { EngineEvent } from "../contract/events.ts";
import type { Commit } from "../contract/journal.ts";
import { RISKS } from "../contract/permission.ts";
import type { Agent } from "./agent.ts";
import { resourceOf } from "./audit-entry.ts";
import { callFast } from "./fast-call.ts";
import type { Question } from "./judge.ts";
import type { Call } from "./log/run-state.ts";
import { commit } from "./outcomes.ts";

/** Puts a question to whoever watches the session; all kinds are one mechanism (D-5). */
export function asked(call: Call, question: Question, { deps }: Agent): Commit {
  const id = deps.newId("perm");
  const deadline = deps.now() + deps.limits.permissionTimeoutMs;
  const { tool, message, grant } = question;
  const entry = {
    kind: "decision_asked",
    decision_id: id,
    decision_kind: question.decision,
    call_id: call.block.id,
    tool_name: tool.name,
    input: { ...question.input },
    resource: resourceOf(tool, question.input, deps.redactor),
    message,
    deadline,
    ...(grant ? { grant } : {}),
  } as const;
  return commit([entry], [eventOf(id, call, question, new Date(deadline).toISOString())]);
}

function eventOf(id: string, call: Call, { decision, tool, input, message }: Question, expires: string): EngineEvent {
  const common = { id, tool_call_id: call.block.id, expires_at: expires };
  const what = { tool_name: tool.name, input: { ...input }, message };
  if (decision === "plan_approval") return { type: "plan_approval", ...common, plan: String(input.plan ?? "") };
  return { type: decision === "checkpoint" ? "checkpoint" : "permission_request", ...common, ...what };
}

/** Whether the classifier is to look at the question first: once, and never at more risk than it is trusted with. */
export function isForClassifier(call: Call, question: Question, { deps, run }: Agent): boolean {
  const classifier = deps.classifier?.(NO_CALL);
  if (!classifier || call.at.phase !== "new" || question.decision !== "permission" || run.mode === "plan") return false;
  return RISKS.indexOf(question.risk) <= RISKS.indexOf(classifier.maxRisk);
}

const NO_CALL = (): Promise<never> => Promise.reject(new Error("only asked for its limits"));

/** The classifier's word, stored before anything follows from it (P-3). */
export async function classified(call: Call, question: Question, agent: Agent): Promise<Commit> {
  const { deps, fold, signal } = agent;
  if (!deps.classifier) throw new Error("there is no classifier");
  const classifier = deps.classifier((request, during) => callFast({ ...agent, signal: during }, request));
  const said = await classifier.classify(
    {
      toolName: question.tool.name,
      input: question.input,
      reason: question.reason,
      risk: question.risk,
      goal: fold.promptBefore(fold.messages.length)?.text ?? "",
      cwd: fold.facts.cwd,
    },
    signal,
  );
  deps.observe("permission_classified", { tool: question.tool.name, decision: said.decision, stage: said.stage });
  const entry = {
    kind: "classified",
    call_id: call.block.id,
    decision: said.decision,
    reason: said.reason,
    thinking: said.thinking,
    stage: said.stage,
    usage: said.usage,
    cost_nano: said.costNano,
    duration_ms: said.durationMs,
  } as const;
  return commit([entry], []);
}
