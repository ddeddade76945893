import type { AuditEntry } from "../contract/audit.ts";
import type { EngineEvent, LiveEvent } from "../contract/events.ts";
import type { Commit, Output } from "../contract/journal.ts";
import type { Entry, EntryOf } from "../contract/log.ts";
import type { ToolResultContent } from "../contract/messages.ts";
import type { Tool } from "../contract/tools.ts";
import type { EngineDeps } from "./deps.ts";
import { type Judgement, judge } from "./judge.ts";
import { OUTCOME_UNKNOWN, type SessionFold } from "./log/fold.ts";
import type { Call, RunState } from "./log/run-state.ts";
import { type Runnable, runCall } from "./run-call.ts";

/**
 * Brings the next open calls of a turn forward: refuses, asks, or runs them. Calls are taken in order; neighbours that are
 * read-only and concurrency-safe run side by side, others alone (T-3); a question waits until what stands before it is
 * done (decisions 5). Returns after one group, so that the loop looks at the log again.
 */
export async function* settleTools(
  calls: readonly Call[],
  fold: SessionFold,
  run: RunState,
  deps: EngineDeps,
  signal: AbortSignal,
): AsyncGenerator<Output, void> {
  const group: Runnable[] = [];
  const reasons = new Map<string, string>();
  for (const call of calls.slice(0, deps.limits.maxParallelTools)) {
    const at = await standing(call, fold, run, deps);
    if (at.kind === "run" && (group.length === 0 || isSafe(at.tool))) {
      group.push({ callId: call.block.id, tool: at.tool, input: at.input });
      reasons.set(call.block.id, at.reason);
      if (isSafe(at.tool)) continue;
    }
    if (group.length > 0) break;
    if (at.kind === "refuse") yield refused(call, at, run, deps);
    if (at.kind === "ask") yield asked(call, at, deps);
    return;
  }
  yield started(group, reasons, run, deps);
  yield* runGroup(group, fold, deps, signal);
}

function isSafe(tool: Tool): boolean {
  return tool.metadata.readOnly && tool.metadata.concurrencySafe;
}

/** A call found started has lost its owner: only an idempotent one runs again, with the input it had. */
async function standing(call: Call, fold: SessionFold, run: RunState, deps: EngineDeps): Promise<Judgement> {
  if (call.at.phase !== "started") return judge(call, fold, run, deps);
  const tool = deps.tools.get(call.block.name);
  if (tool?.metadata.recovery !== "rerun") return { kind: "refuse", message: OUTCOME_UNKNOWN, denied: false };
  const parsed = tool.input.safeParse(call.at.input);
  if (!parsed.success) return { kind: "refuse", message: OUTCOME_UNKNOWN, denied: false };
  return {
    kind: "run",
    tool,
    input: parsed.data as Readonly<Record<string, unknown>>,
    reason: "run again after an interruption",
  };
}

/** Started and audited before it runs; both in one commit (S-4). */
function started(
  group: readonly Runnable[],
  reasons: ReadonlyMap<string, string>,
  run: RunState,
  deps: EngineDeps,
): Commit {
  return {
    kind: "commit",
    entries: group.map((call) => ({ kind: "tool_started", call_id: call.callId })),
    events: [],
    audit: group.map((call) => auditOf(call.tool, call.input, "allowed", reasons.get(call.callId) ?? "", run, deps)),
  };
}

function refused(call: Call, verdict: Extract<Judgement, { kind: "refuse" }>, run: RunState, deps: EngineDeps): Commit {
  const tool = deps.tools.get(call.block.name);
  const finished: EntryOf<"tool_finished"> = {
    kind: "tool_finished",
    call_id: call.block.id,
    content: verdict.message,
    is_error: true,
    skipped: true,
    ...(verdict.denied ? { denied: true } : {}),
  };
  return {
    kind: "commit",
    entries: [finished],
    events: [resultEvent(call.block.name, finished)],
    audit: tool && verdict.denied ? [auditOf(tool, call.block.input, "blocked", verdict.message, run, deps)] : [],
  };
}

function asked(call: Call, question: Extract<Judgement, { kind: "ask" }>, deps: EngineDeps): Commit {
  const id = deps.newId("perm");
  const deadline = deps.now() + deps.limits.permissionTimeoutMs;
  return {
    kind: "commit",
    entries: [
      {
        kind: "decision_asked",
        decision_id: id,
        decision_kind: "permission",
        call_id: call.block.id,
        tool_name: question.tool.name,
        input: { ...question.input },
        message: question.message,
        deadline,
      },
    ],
    events: [
      {
        type: "permission_request",
        id,
        tool_name: question.tool.name,
        input: { ...question.input },
        message: question.message,
        tool_call_id: call.block.id,
        expires_at: new Date(deadline).toISOString(),
      },
    ],
    audit: [],
  };
}

type Happening =
  | { readonly kind: "progress"; readonly event: LiveEvent }
  | { readonly kind: "finished"; readonly call: Runnable; readonly entry: EntryOf<"tool_finished"> }
  | { readonly kind: "broken"; readonly error: unknown };

/** Runs a group side by side; each result is committed as it comes, the history keeps call order by itself. */
async function* runGroup(
  group: readonly Runnable[],
  fold: SessionFold,
  deps: EngineDeps,
  signal: AbortSignal,
): AsyncGenerator<Output, void> {
  const happenings: Happening[] = [];
  let wake: () => void = () => undefined;
  const tell = (happening: Happening): void => {
    happenings.push(happening);
    wake();
  };
  for (const call of group) {
    const progress = (fraction: number, detail: string): void =>
      tell({ kind: "progress", event: progressEvent(call, fraction, detail) });
    runCall(call, fold, deps, signal, progress).then(
      (entry) => tell({ kind: "finished", call, entry }),
      (error: unknown) => tell({ kind: "broken", error }),
    );
  }
  let open = group.length;
  while (open > 0) {
    if (happenings.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    for (const happening of happenings.splice(0)) {
      if (happening.kind === "broken") throw happening.error;
      if (happening.kind === "progress") {
        yield { kind: "live", events: [happening.event] };
        continue;
      }
      open--;
      const { call, entry } = happening;
      yield { kind: "commit", entries: [entry], events: [resultEvent(call.tool.name, entry)], audit: [] };
    }
  }
}

function progressEvent(call: Runnable, fraction: number, detail: string): LiveEvent {
  const progress = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  return { type: "tool_progress", id: call.callId, tool_name: call.tool.name, progress, detail };
}

/** Gives every open call of a cancelled run the result that says so (T-2). */
export function abandonCalls(calls: readonly Call[], reason: string): { entries: Entry[]; events: EngineEvent[] } {
  const entries = calls.map(
    (call): EntryOf<"tool_finished"> => ({
      kind: "tool_finished",
      call_id: call.block.id,
      content:
        call.at.phase === "started"
          ? `error: cancelled while it ran: ${reason}`
          : `error: cancelled before it ran: ${reason}`,
      is_error: true,
      skipped: call.at.phase !== "started",
    }),
  );
  const events = calls.map((call, i) => resultEvent(call.block.name, entries[i] ?? missing()));
  return { entries, events };
}

function missing(): never {
  throw new Error("one entry per call");
}

function resultEvent(toolName: string, entry: EntryOf<"tool_finished">): EngineEvent {
  return {
    type: "tool_result",
    id: entry.call_id,
    tool_name: toolName,
    output: asText(entry.content),
    is_error: entry.is_error,
  };
}

function asText(content: ToolResultContent): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[image ${part.media_type}]`)).join("\n");
}

function auditOf(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  outcome: AuditEntry["outcome"],
  reason: string,
  run: RunState,
  deps: EngineDeps,
): AuditEntry {
  return {
    id: deps.newId("aud"),
    session_id: deps.sessionId,
    turn_number: run.turn,
    timestamp: new Date(deps.now()).toISOString(),
    tool_name: tool.name,
    operation: tool.metadata.auditOperation,
    resource: resourceOf(tool, input),
    actor_id: run.config.actor_id,
    outcome,
    reason,
    extra: run.config.metadata,
  };
}

/** The resource as the tool names it; a refused call's input may not even have the tool's shape. */
function resourceOf(tool: Tool, input: Readonly<Record<string, unknown>>): string {
  const parsed = tool.input.safeParse(input);
  return (parsed.success ? tool.resource(parsed.data) : JSON.stringify(input)).slice(0, 4096);
}
