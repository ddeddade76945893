import type { EngineEvent, LiveEvent } from "../contract/events.ts";
import type { Failure } from "../contract/failure.ts";
import type { Output } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { AssistantBlock } from "../contract/messages.ts";
import type { ModelEvent, ModelRequest } from "../contract/model.ts";
import type { EngineDeps } from "./deps.ts";
import type { SessionFold } from "./log/fold.ts";
import type { RunState } from "./log/run-state.ts";
import { StopMatcher } from "./stop-sequences.ts";

/** How a model call ended for the loop. `shown`: something of it has reached the client. */
export type SampleEnd =
  | { readonly kind: "answered" }
  | { readonly kind: "failed"; readonly failure: Failure; readonly shown: boolean };

/**
 * One model call: events go up as they come, the whole reply is committed at its end. Blocks are shown only after they
 * are stored; deltas at once (architecture, idea 2). Ends early, and stops the upstream, when a stop sequence is hit.
 */
export async function* sample(
  fold: SessionFold,
  run: RunState,
  deps: EngineDeps,
  signal: AbortSignal,
): AsyncGenerator<Output, SampleEnd> {
  const upstream = new AbortController();
  const call = AbortSignal.any([signal, upstream.signal]);
  const reply = new Reply(run);
  const events = deps.provider.stream(buildRequest(fold, run, deps), call)[Symbol.asyncIterator]();
  try {
    while (true) {
      const next = await events.next();
      if (next.done) return { kind: "failed", failure: ENDED_WITHOUT_EVENT, shown: reply.shown };
      const end = reply.take(next.value);
      yield* reply.output();
      if (!end) continue;
      if (end.type === "failed") return { kind: "failed", failure: end.failure, shown: reply.shown };
      yield { kind: "commit", entries: [reply.entry(end, deps)], events: [], audit: [] };
      return { kind: "answered" };
    }
  } finally {
    upstream.abort(new Error("model call is over"));
    await events.return?.(undefined).catch(() => undefined);
  }
}

const ENDED_WITHOUT_EVENT: Failure = {
  category: "stream_incomplete",
  message: "the provider's stream ended without a result",
  retryable: true,
};

type Ending = Extract<ModelEvent, { type: "finished" | "failed" }>;

/** The half-built reply of one call. */
class Reply {
  readonly #run: RunState;
  readonly #blocks: AssistantBlock[] = [];
  #stops: StopMatcher;
  #hit: string | undefined;
  #textShown = "";
  #pending: (LiveEvent | { readonly stored: EngineEvent })[] = [];
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
    let live: LiveEvent[] = [];
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
  entry(end: Extract<Ending, { type: "finished" }>, deps: EngineDeps): EntryOf<"assistant"> {
    const { config, turn } = this.#run;
    const info = deps.models.info(config.model, config.provider);
    const calls = this.#blocks.some((block) => block.type === "tool_use");
    const own = end.costUsd === undefined ? undefined : Math.round(end.costUsd * 1e9);
    return {
      kind: "assistant",
      turn,
      content: this.#blocks,
      stop: calls && end.stop === "end_turn" ? "tool_use" : end.stop,
      ...(end.stopDetail === undefined ? {} : { stop_detail: end.stopDetail }),
      usage: end.usage,
      cost_nano: own ?? (end.usage ? deps.models.costNano(info, end.usage) : 0),
      ...(own === undefined && info.estimated ? { cost_estimated: true } : {}),
      provider: config.provider,
      model: config.model,
    };
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

function buildRequest(fold: SessionFold, run: RunState, deps: EngineDeps): ModelRequest {
  const { config } = run;
  const info = deps.models.info(config.model, config.provider);
  const cap = config.max_tokens ?? Math.min(info.max_output_tokens, deps.limits.maxOutputTokens);
  const thinking = info.supports_thinking ? config.thinking_budget : undefined;
  return {
    model: config.model,
    system: deps.system(config, fold.facts),
    messages: fold.messages,
    tools: deps.toolDefinitions,
    // A thinking budget counts against max_tokens: leave room for the answer beside it.
    maxTokens: thinking ? Math.max(cap, Math.min(thinking + cap, info.max_output_tokens)) : cap,
    stopSequences: config.stop_sequences,
    thinkingBudget: thinking,
    effort: config.effort,
    fastMode: config.fast_mode,
  };
}
