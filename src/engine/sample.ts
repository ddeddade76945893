import type { EngineEvent, LiveEvent, SubagentEvent } from "../contract/events.ts";
import type { Failure } from "../contract/failure.ts";
import type { Commit, Output } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { AssistantBlock } from "../contract/messages.ts";
import type { ModelEvent, ModelRequest, Usage } from "../contract/model.ts";
import type { PromptedAgent } from "./agent.ts";
import { answerTokens, contextTokens, messageTokens } from "./context-size.ts";
import type { RunState } from "./log/run-state.ts";
import { commit } from "./outcomes.ts";
import { StopMatcher } from "./stop-sequences.ts";

/** How a model call ended for the loop. `shown`: something of it has reached the client. */
export type SampleEnd =
  | { readonly kind: "answered" }
  /** The run's budget is spent; no call was made (T-6). */
  | { readonly kind: "unaffordable" }
  | { readonly kind: "failed"; readonly failure: Failure; readonly shown: boolean };

/**
 * One model call: events go up as they come, the whole reply is committed at its end. Blocks are shown only after they
 * are stored; deltas at once (architecture, idea 2). Ends early, and stops the upstream, when a stop sequence is hit.
 */
export async function* sample(agent: PromptedAgent): AsyncGenerator<Output, SampleEnd> {
  const { run, deps, signal, slots } = agent;
  const release = await slots.take(agent.id, slots.capped(agent.id) ? worstNano(agent) : 0, signal);
  if (!release) return { kind: "unaffordable" };
  const upstream = new AbortController();
  const call = AbortSignal.any([signal, upstream.signal]);
  const reply = new Reply(run);
  const events = deps.provider.stream(buildRequest(agent), call)[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await events.next();
      if (next.done) return { kind: "failed", failure: ENDED_WITHOUT_EVENT, shown: reply.shown };
      const end = reply.take(next.value);
      yield* reply.output();
      if (!end) continue;
      if (end.type === "failed") {
        if (end.usage) yield commit([failedCall(end.usage, agent)], []);
        return { kind: "failed", failure: end.failure, shown: reply.shown };
      }
      yield commit([reply.entry(end, agent)], []);
      return { kind: "answered" };
    }
  } catch (error) {
    // What a person has read before he stopped the run is part of the conversation.
    const partial = signal.aborted && agent.fold.run?.cancelled !== undefined ? reply.interrupted(agent) : undefined;
    if (partial) yield partial;
    throw error;
  } finally {
    upstream.abort(new Error("model call is over"));
    await events.return?.(undefined).catch(() => undefined);
    release();
  }
}

const ENDED_WITHOUT_EVENT: Failure = {
  category: "stream_incomplete",
  message: "the provider's stream ended without a result",
  retryable: true,
};

/** What the call costs at most: everything it reads at the full price, and the longest answer. */
function worstNano(agent: PromptedAgent): number {
  const { run, deps } = agent;
  const info = deps.models.info(run.config.model, run.config.provider);
  const input = contextTokens(agent);
  return deps.models.costNano(info, { input, output: outputTokens(agent), cache_read: 0, cache_write: 0 });
}

/** What a call that broke off has cost by what the provider had counted until then. */
function failedCall(usage: Usage, { run, deps }: PromptedAgent): EntryOf<"call_failed"> {
  const info = deps.models.info(run.config.model, run.config.provider);
  return { kind: "call_failed", turn: run.turn, usage, cost_nano: deps.models.costNano(info, usage) };
}

type Ending = Extract<ModelEvent, { type: "finished" | "failed" }>;

type OwnLive = Exclude<LiveEvent, SubagentEvent>;

/** The half-built reply of one call. */
class Reply {
  readonly #run: RunState;
  readonly #blocks: AssistantBlock[] = [];
  #stops: StopMatcher;
  #hit: string | undefined;
  #textShown = "";
  #pending: (OwnLive | { readonly stored: EngineEvent })[] = [];
  shown = false;

  constructor(run: RunState) {
    this.#run = run;
    this.#stops = new StopMatcher(run.config.stop_sequences);
  }

  /** Takes a batch of the provider's events; gives the ending when it came. */
  take(batch: readonly ModelEvent[]): Ending | undefined {
    const before = this.#pending.length;
    for (const event of batch) {
      switch (event.type) {
        case "text_delta":
          this.#text(event.text);
          break;
        case "thinking_delta":
          this.#pending.push(event);
          break;
        case "block":
          this.#block(event.block);
          break;
        case "failed":
          // A block that closed only because the call broke is no whole block: nobody is shown it as one.
          this.#pending = this.#pending.filter((item, at) => at < before || !("stored" in item));
          return event;
        case "finished":
          return event;
        default:
          event satisfies never;
      }
      if (this.#hit !== undefined)
        return { type: "finished", stop: "stop_sequence", stopDetail: this.#hit, usage: null };
    }
    return undefined;
  }

  /** What may leave now: neighbouring live events together, each block as a commit of its own place in the order. */
  *output(): Generator<Output> {
    let live: OwnLive[] = [];
    let stored: EngineEvent[] = [];
    for (const item of this.#pending) {
      this.shown = true;
      if ("stored" in item) {
        if (live.length > 0) yield { kind: "live", events: live };
        live = [];
        stored.push(item.stored);
      } else {
        if (stored.length > 0) yield { kind: "commit", entries: [], events: stored, audit: [] };
        stored = [];
        live.push(item);
      }
    }
    this.#pending = [];
    if (live.length > 0) yield { kind: "live", events: live };
    if (stored.length > 0) yield { kind: "commit", entries: [], events: stored, audit: [] };
  }

  /** The reply as a log entry, priced at the model's price of today. */
  entry(end: Extract<Ending, { type: "finished" }>, agent: PromptedAgent): EntryOf<"assistant"> {
    const calls = this.#blocks.some((block) => block.type === "tool_use");
    const usage = this.#hit === undefined ? end.usage : this.#estimate(agent);
    const own = end.costUsd === undefined ? undefined : Math.round(end.costUsd * 1e9);
    return {
      ...this.#priced(usage, own, this.#hit !== undefined, agent),
      content: this.#blocks,
      stop: calls && end.stop === "end_turn" ? "tool_use" : end.stop,
      ...(end.stopDetail === undefined ? {} : { stop_detail: end.stopDetail }),
    };
  }

  /** What was shown of a call that was stopped: its text, since half a call or a thought is worth nothing. */
  interrupted(agent: PromptedAgent): Commit | undefined {
    const open = this.#textShown;
    if (open !== "") this.#blocks.push({ type: "text", text: open });
    const content = this.#blocks.filter((block) => block.type === "text");
    if (content.length === 0) return undefined;
    const entry = {
      ...this.#priced(this.#estimate(agent), undefined, true, agent),
      content,
      stop: "cancelled",
    } as const;
    return commit([entry], open === "" ? [] : [{ type: "text", text: open }]);
  }

  #priced(usage: Usage | null, own: number | undefined, guessed: boolean, { deps }: PromptedAgent) {
    const { config, turn } = this.#run;
    const info = deps.models.info(config.model, config.provider);
    return {
      kind: "assistant",
      turn,
      usage,
      cost_nano: own ?? (usage ? deps.models.costNano(info, usage) : 0),
      ...(own === undefined && (info.estimated || guessed) ? { cost_estimated: true } : {}),
      provider: config.provider,
      model: config.model,
    } as const;
  }

  /** Who stops the provider in the middle gets no count from it. */
  #estimate(agent: PromptedAgent): Usage {
    const output = messageTokens({ role: "assistant", content: this.#blocks }, agent.deps);
    return { input: contextTokens(agent), output, cache_read: 0, cache_write: 0 };
  }

  #text(piece: string): void {
    const { text, hit } = this.#stops.push(piece);
    this.#show(text);
    if (hit === undefined) return;
    this.#hit = hit;
    this.#closeText({});
  }

  #show(text: string): void {
    if (text === "") return;
    this.#textShown += text;
    this.#pending.push({ type: "text_delta", text });
  }

  #closeText(extra: Pick<Extract<AssistantBlock, { type: "text" }>, "provider_metadata">): void {
    const text = this.#textShown;
    this.#textShown = "";
    if (text === "" && extra.provider_metadata === undefined) return;
    this.#blocks.push({ type: "text", text, ...extra });
    if (text !== "") this.#pending.push({ stored: { type: "text", text } });
  }

  #block(block: AssistantBlock): void {
    switch (block.type) {
      case "text":
        this.#show(this.#stops.flush());
        // A provider may close a block whose deltas it never sent.
        if (this.#textShown === "" && block.text !== "") this.#text(block.text);
        if (this.#hit !== undefined) return;
        this.#show(this.#stops.flush());
        this.#closeText(block.provider_metadata ? { provider_metadata: block.provider_metadata } : {});
        return;
      case "thinking":
        this.#blocks.push(block);
        if (block.text !== "") this.#pending.push({ stored: { type: "thinking", text: block.text } });
        return;
      case "tool_use":
        this.#blocks.push(block);
        this.#pending.push({ stored: { type: "tool_use", id: block.id, tool_name: block.name, input: block.input } });
        return;
      default:
        block satisfies never;
    }
  }
}

function buildRequest(agent: PromptedAgent): ModelRequest {
  const { run, deps, fold, prompt } = agent;
  const { config } = run;
  return {
    model: config.model,
    system: prompt.system,
    messages: fold.context,
    tools: deps.toolDefinitions,
    maxTokens: outputTokens(agent),
    stopSequences: config.stop_sequences,
    thinkingBudget: thinkingTokens(agent),
    effort: config.effort,
    fastMode: config.fast_mode,
  };
}

/** A thinking budget counts against max_tokens: leave room for the answer beside it. */
function outputTokens(agent: PromptedAgent): number {
  const info = agent.deps.models.info(agent.run.config.model, agent.run.config.provider);
  const cap = answerTokens(agent, info);
  const thinking = thinkingTokens(agent);
  return thinking ? Math.max(cap, Math.min(thinking + cap, info.max_output_tokens)) : cap;
}

function thinkingTokens({ run, deps }: PromptedAgent): number | undefined {
  const { config } = run;
  return deps.models.info(config.model, config.provider).supports_thinking ? config.thinking_budget : undefined;
}
