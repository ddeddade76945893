import type { Failure } from "../contract/failure.ts";
import type { Output } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { Agent, PromptedAgent } from "./agent.ts";
import { contextLimit, contextTokens, tokensOf } from "./context-size.ts";
import { type ContextCut, contextOf } from "./log/context-view.ts";
import { commit } from "./outcomes.ts";
import { cutSummary, summarize } from "./summarize.ts";
import { noteCost } from "./thresholds.ts";

/** Compactions without an answer between them (S12). */
const MAX_COMPACTIONS = 2;
/** Messages at the end that keep their tool output: the model may not have worked with it yet. */
const UNTRIMMED = 6;
/** Share of the limit that a context is brought down to, so that the next turn does not have to do it again. */
const TARGET = 0.5;

/**
 * Makes the agent's context small enough for its next model call, if it is not (C-1). Gives the failure the run ends with
 * when it cannot be: after a bounded number of tries, never round and round (S12).
 */
export async function* makeRoom(agent: PromptedAgent): AsyncGenerator<Output, Failure | undefined> {
  while (true) {
    const run = agent.fold.run ?? agent.run;
    const now = { ...agent, run };
    const { soft, hard } = contextLimit(now);
    const tokens = contextTokens(now);
    if (tokens <= soft) return undefined;
    const done = run.compactions < MAX_COMPACTIONS ? yield* compact("threshold", now) : false;
    if (done) continue;
    // What cannot be made smaller may still fit: the provider knows better than an estimate near the limit.
    return tokens <= hard ? undefined : tooLong(tokens, hard);
  }
}

/**
 * One compaction: first old tool output is dropped, without a model; if that is not enough, the older part becomes a
 * summary by the fast model. The log keeps everything. False: there is nothing left to drop, or no summary where one was asked for. `gap`: tokens over the
 * limit, as the provider counted them.
 */
export async function* compact(
  cause: EntryOf<"compacted">["cause"],
  agent: PromptedAgent,
  gap = 0,
): AsyncGenerator<Output, boolean> {
  const { fold, run, deps } = agent;
  const before = contextTokens(agent);
  const scale = fold.measured ? before / Math.max(1, agent.prompt.tokens + tokensOf(fold.context, deps)) : 1;
  const measure = (cut: ContextCut): number =>
    Math.round((agent.prompt.tokens + tokensOf(contextOf(fold.messages, cut), deps)) * scale);
  const { soft } = contextLimit(agent);
  const target = Math.max(0, Math.min(soft, before - gap) * TARGET);
  const trimmed: ContextCut = { ...fold.cut, trimmed: trimPoint(agent) };
  const enough = run.compactions === 0 && cause !== "request" && measure(trimmed) <= target;
  const made = enough ? { cut: trimmed, ...NO_CALL } : await shorten(agent, trimmed, target, measure);
  const asked = cause === "request";
  if (!made && !asked) return false;
  const { cut, ...call } = made ?? { cut: fold.cut, ...NO_CALL };
  const after = measure(cut);
  // Nobody is in need then: what would lose the past, or save nothing, is left as it is. The call is paid for.
  const kept = asked && (!made || made.failed === true || after >= before);
  const figures = { tokens_before: before, tokens_after: kept ? before : after };
  yield commit(
    [{ kind: "compacted", ...(kept ? fold.cut : cut), cause, ...figures, ...call }],
    kept ? [] : [{ type: "context_compacted", ...figures, cause }],
  );
  noteCost(agent);
  return !(asked && made?.failed);
}

/** How a run ends that was to make the context smaller and could not. */
export const NOT_SUMMARIZED: Failure = {
  category: "server",
  message: "the fast model gave no summary; the context is as it was",
  retryable: true,
};

const NO_CALL = { usage: null, cost_nano: 0 } as const;

type Shortened = { readonly cut: ContextCut } & Pick<EntryOf<"compacted">, "usage" | "cost_nano" | "failed">;

/** The older part as a summary; when none can be had, it goes without one (C-2), unless the mode is strict. */
async function shorten(
  agent: Agent,
  trimmed: ContextCut,
  target: number,
  measure: (cut: ContextCut) => number,
): Promise<Shortened | undefined> {
  const { fold, deps } = agent;
  const at = summaryPoint(agent, trimmed, target, measure);
  if (at === undefined) {
    const smaller = trimmed.trimmed > fold.cut.trimmed && measure(trimmed) < measure(fold.cut);
    return smaller ? { cut: trimmed, ...NO_CALL } : undefined;
  }
  const made = await summarize(agent, at);
  if (made.failed && deps.strict.compaction) throw new Error("the context could not be summarized (strict mode)");
  const summary = cutSummary(made.summary, agent, at);
  return {
    cut: { summarized: at, trimmed: Math.max(trimmed.trimmed, at), summary },
    usage: made.usage,
    cost_nano: made.costNano,
    ...(made.failed ? { failed: true } : {}),
  };
}

function trimPoint({ fold }: Agent): number {
  return Math.max(fold.cut.trimmed, fold.messages.length - UNTRIMMED);
}

/**
 * How many messages the summary takes the place of: as many as needed for the target, none of the newest turn's. What
 * stays begins with an answer of the model or with a prompt, so that no tool call loses its result (C-2).
 */
function summaryPoint(
  { fold }: Agent,
  trimmed: ContextCut,
  target: number,
  measure: (cut: ContextCut) => number,
): number | undefined {
  const { messages, cut } = fold;
  const points: number[] = [];
  for (let i = cut.summarized + 1; i < messages.length; i++) {
    const message = messages[i];
    const pairs = message?.content.some((block) => block.type === "tool_result");
    if (message && !pairs) points.push(i);
  }
  // The measure falls with every message that goes: the first point that is low enough keeps most.
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = points[middle] ?? 0;
    if (measure({ ...trimmed, summarized: at, summary: "" }) <= target) high = middle;
    else low = middle + 1;
  }
  return points[low];
}

function tooLong(tokens: number, window: number): Failure {
  return {
    category: "prompt_too_long",
    message: `the conversation does not fit into the model's window of ${window} tokens (about ${tokens}), and nothing is left to leave out`,
    retryable: false,
    tokenGap: tokens - window,
  };
}
