import type { EntryOf } from "../contract/log.ts";
import type { ToolResultContent } from "../contract/messages.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import type { Agent } from "./agent.ts";
import { capOutput } from "./cap-output.ts";
import type { EngineDeps } from "./deps.ts";
import { TimeLimit } from "./time-limit.ts";

export type Runnable = {
  readonly callId: string;
  readonly tool: Tool;
  readonly input: Readonly<Record<string, unknown>>;
  /** A person changed the input; the model has to know with what the call really ran. */
  readonly rewritten: boolean;
};

/** Puts a question of a running call to a person; never throws. An abort of the signal takes it back. */
export type PutQuestion = NonNullable<ToolContext["elicit"]>;

/**
 * Runs one tool call to its stored shape. Settles within the tool's own limit plus a grace by the host's clock, whatever
 * the tool does; a late answer is dropped. Throws only when `signal` aborts.
 */
export async function runCall(
  call: Runnable,
  agent: Agent,
  progress: (fraction: number, detail: string) => void,
  put: PutQuestion,
): Promise<EntryOf<"tool_finished">> {
  const { deps, signal } = agent;
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const limit = (call.tool.timeoutMs?.(call.input) ?? deps.limits.toolTimeoutMs) + deps.limits.toolGraceMs;
  const clock = new TimeLimit(limit, deps, signal);
  const ask: PutQuestion = async (question, withdrawn) => {
    const release = clock.hold();
    try {
      return await put(question, AbortSignal.any([both, withdrawn]));
    } finally {
      release();
    }
  };
  // Keeping a long output writes to the sandbox, so it is part of what the limit holds for.
  const work = settle(call, agent, both, progress, ask).then(async (outcome) => ({
    ...outcome,
    content: await presentable(noted(outcome.content, call), keptName(call, agent), deps),
  }));
  const late = clock.reached.then((): ToolOutcome => {
    signal.throwIfAborted();
    deps.observe("tool_timed_out", { tool: call.tool.name, limit_ms: limit });
    const count = (): void => deps.observe("late_answer_ignored", { tool: call.tool.name });
    void work.then(count, count);
    return { content: `error: ${call.tool.name} did not end within ${limit} ms and was given up`, isError: true };
  });
  try {
    const outcome = await Promise.race([work, late]);
    signal.throwIfAborted();
    return {
      kind: "tool_finished",
      call_id: call.callId,
      content: outcome.content,
      is_error: outcome.isError,
      ...(outcome.facts && outcome.facts.length > 0 ? { facts: [...outcome.facts] } : {}),
    };
  } finally {
    clock.stop();
    stop.abort(new Error("the call is over"));
    late.catch(() => undefined);
    work.catch(() => undefined);
  }
}

/** Calls of different agents and turns may have the same id; what is kept of them must not share a file. */
export function keptName({ callId }: Pick<Runnable, "callId">, { id, run }: Agent): string {
  return `${id === undefined ? "" : `${id}-`}${run.config.run_id}-${run.turn}-${callId}`;
}

function noted(content: ToolResultContent, { input, rewritten }: Runnable): ToolResultContent {
  if (!rewritten) return content;
  const note = `[the user changed the input before the call ran; it ran with ${JSON.stringify(input)}]`;
  return typeof content === "string" ? `${note}\n${content}` : [{ type: "text", text: note }, ...content];
}

/** What the model and the client may see: without registered secrets (also in the kept file), cut, without found ones. */
async function presentable(content: ToolResultContent, callId: string, deps: EngineDeps): Promise<ToolResultContent> {
  const capped = await capOutput(deps.redactor.redactJson(content), callId, deps);
  if (typeof capped === "string") return deps.guard.redact(capped);
  return capped.map((part) => (part.type === "text" ? { ...part, text: deps.guard.redact(part.text) } : part));
}

/** The tool's outcome; a bug in the tool becomes an error result without details. */
async function settle(
  call: Runnable,
  { fold, deps, run }: Agent,
  signal: AbortSignal,
  progress: (fraction: number, detail: string) => void,
  ask: PutQuestion,
): Promise<ToolOutcome> {
  try {
    return await call.tool.run(call.input, {
      callId: call.callId,
      signal,
      sandbox: deps.sandbox,
      facts: fold.facts,
      env: deps.env,
      fetch: deps.fetch,
      progress,
      ...(run.config.interactive ? { elicit: ask } : {}),
    });
  } catch (error) {
    signal.throwIfAborted();
    deps.observe("tool_crashed", { tool: call.tool.name, error: error instanceof Error ? error.name : typeof error });
    return { content: `error: ${call.tool.name} failed inside`, isError: true };
  }
}
