import type { EngineEvent } from "../contract/events.ts";
import type { Commit } from "../contract/journal.ts";
import type { Tool } from "../contract/tools.ts";
import type { Agent, Step } from "./agent.ts";
import { asked, classified, isForClassifier } from "./ask.ts";
import { auditOf } from "./audit-entry.ts";
import { delegate } from "./delegate.ts";
import { endQuestion } from "./elicit.ts";
import { type Judgement, judge, unanswerable } from "./judge.ts";
import { OUTCOME_UNKNOWN } from "./log/fold.ts";
import type { Call } from "./log/run-state.ts";
import type { Runnable } from "./run-call.ts";
import { runGroup } from "./run-group.ts";
import { noteCost } from "./thresholds.ts";
import { resultEvent, textResult } from "./tool-result.ts";

/** Denials of one call in a row after which the model is told to stop trying. */
const DENIALS_WITH_ADVICE = 3;

type Input = Readonly<Record<string, unknown>>;
type Allowed = Runnable & { readonly reason: string; readonly risky: boolean; readonly byPolicy: boolean };

/**
 * Brings the next open calls of a turn forward: refuses, asks, or runs them. Calls are taken in order; neighbours that are
 * read-only and concurrency-safe run side by side, others alone (T-3); a question waits until what stands before it is
 * done (decisions 5). Returns after one group, so that the loop looks at the log again; true: other agents are to go on.
 */
export async function* settleTools(calls: readonly Call[], agent: Agent): AsyncGenerator<Step, boolean> {
  const group: Allowed[] = [];
  for (const call of calls.slice(0, agent.deps.limits.maxParallelTools)) {
    const at = await standing(call, agent);
    const safe = at.kind === "run" && isSafe(at.tool);
    if (at.kind === "run" && !at.tool.delegate && (group.length === 0 || safe)) {
      const { tool, input, reason, risky, rewritten, byPolicy } = at;
      group.push({ callId: call.block.id, tool, input, reason, risky, rewritten, byPolicy });
      if (safe) continue;
    }
    if (group.length > 0) break;
    return yield* settleOne(call, at, agent);
  }
  yield started(group, agent);
  yield* runGroup(group, agent);
  return false;
}

async function* settleOne(call: Call, at: Judgement, agent: Agent): AsyncGenerator<Step, boolean> {
  if (at.kind === "refuse") yield refused(call, at, judged(call), agent);
  else if (at.kind === "run") return yield* delegate(call, at.tool, at.input, at.reason, agent);
  else if (isForClassifier(call, at, agent)) {
    yield await classified(call, at, agent);
    noteCost(agent);
  } else if (agent.run.config.interactive) yield asked(call, at, agent);
  else yield refused(call, unanswerable(at), at.input, agent);
  return false;
}

/** The input a refused call was judged by: as it was agreed to, else the model's own. */
function judged({ block, at }: Call): Input {
  return at.phase === "answered" ? at.input : block.input;
}

function isSafe(tool: Tool): boolean {
  return tool.metadata.readOnly && tool.metadata.concurrencySafe && !tool.delegate;
}

/** A call found started has lost its owner: only an idempotent one runs again, with the input it had. */
async function standing(call: Call, agent: Agent): Promise<Judgement> {
  if (call.at.phase !== "started") return judge(call, agent);
  const tool = agent.deps.tools.get(call.block.name);
  const unknown = { kind: "refuse", message: OUTCOME_UNKNOWN, denied: false } as const;
  if (tool?.metadata.recovery !== "rerun") return unknown;
  const parsed = tool.input.safeParse(call.at.input);
  if (!parsed.success) return unknown;
  const input = parsed.data as Input;
  return { kind: "run", tool, input, reason: "run again after an interruption", ...AGAIN };
}

const AGAIN = { rewritten: false, byPolicy: false, risky: false } as const;

/** Started and audited before it runs; both in one commit (S-4). */
function started(group: readonly Allowed[], agent: Agent): Commit {
  return {
    kind: "commit",
    entries: group.map(({ callId, byPolicy, input }) => ({
      kind: "tool_started",
      call_id: callId,
      ...(byPolicy ? { input: { ...input } } : {}),
    })),
    events: group.flatMap((call) => (call.risky ? [suggestion(call)] : [])),
    audit: group.map((call) => auditOf(call.tool, call.input, "allowed", call.reason, agent)),
  };
}

/** Nobody was asked before a call of high risk: a good moment to fork the session (E-16). */
function suggestion({ callId, tool, input }: Allowed): EngineEvent {
  const message = `${tool.name} may not be undone: ${tool.resource(input).slice(0, 500)}`;
  return { type: "checkpoint_suggested", tool_call_id: callId, tool_name: tool.name, message };
}

function refused(call: Call, verdict: Extract<Judgement, { kind: "refuse" }>, by: Input, agent: Agent): Commit {
  const { deps, fold } = agent;
  const { name, input, id } = call.block;
  const tool = deps.tools.get(name);
  const denials = verdict.denied ? fold.denialsOf(name, input) + 1 : 0;
  const advised = denials >= DENIALS_WITH_ADVICE ? `${verdict.message}\n${advice(denials)}` : verdict.message;
  if (denials === DENIALS_WITH_ADVICE) deps.observe("repeated_denial", { tool: name, count: denials });
  const finished = textResult(id, advised, {
    is_error: true,
    skipped: true,
    ...(verdict.denied ? { denied: true } : {}),
  });
  return {
    kind: "commit",
    entries: [...endQuestion(call, "the call it belongs to was interrupted"), finished],
    events: [resultEvent(name, finished)],
    audit: tool && verdict.denied ? [auditOf(tool, by, "blocked", verdict.message, agent)] : [],
  };
}

function advice(denials: number): string {
  return `This same call has been denied ${denials} times in a row. Do not make it again: find another way, or tell the user what you cannot do and why it matters.`;
}
