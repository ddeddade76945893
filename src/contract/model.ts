import { z } from "zod";
import type { Failure } from "./failure.ts";
import type { AssistantBlock, Message } from "./messages.ts";

/** Tokens without overlap: `input` is billed in full, cached ones are apart, reasoning is in `output` (provider-protocols 1.2). */
export const Usage = z.object({
  input: z.number().int().nonnegative(),
  output: z.number().int().nonnegative(),
  cache_read: z.number().int().nonnegative(),
  cache_write: z.number().int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** How a model's turn ended. `pause_turn` wants the message sent back; `context_window` means the window is full. */
export const ModelStop = z.enum([
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "pause_turn",
  "refusal",
  "context_window",
]);
export type ModelStop = z.infer<typeof ModelStop>;

/** Metadata of a model. Prices in USD per 1M tokens. */
export const ModelInfo = z.object({
  id: z.string(),
  display_name: z.string(),
  provider: z.string(),
  context_window: z.number().int().positive(),
  max_output_tokens: z.number().int().positive(),
  input_price_per_1m: z.number().nonnegative(),
  output_price_per_1m: z.number().nonnegative(),
  cache_read_price_per_1m: z.number().nonnegative(),
  cache_write_price_per_1m: z.number().nonnegative(),
  supports_caching: z.boolean(),
  supports_thinking: z.boolean(),
  supports_images: z.boolean(),
  /** The model is unknown: window and prices are the default's. */
  estimated: z.boolean().optional(),
});
export type ModelInfo = z.infer<typeof ModelInfo>;

export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

export type ModelRequest = {
  readonly model: string;
  /** `cache` marks the end of a stable prefix. */
  readonly system: readonly { readonly text: string; readonly cache?: boolean | undefined }[];
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly maxTokens: number;
  readonly temperature?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  /** Tokens; undefined or 0 = no extended thinking. */
  readonly thinkingBudget?: number | undefined;
  readonly effort?: "low" | "medium" | "high" | undefined;
  readonly fastMode?: boolean | undefined;
};

/**
 * What comes out of a provider, whatever its wire. A block event closes a block and repeats its whole content after its
 * deltas. The last event is `finished` or `failed`, exactly one.
 */
export type ModelEvent =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "thinking_delta"; readonly text: string }
  | { readonly type: "block"; readonly block: AssistantBlock }
  | {
      readonly type: "finished";
      readonly stop: ModelStop;
      /** The provider's own word, or the stop sequence that was hit. */
      readonly stopDetail?: string | undefined;
      /** null = the provider reported nothing; unknown is not zero. */
      readonly usage: Usage | null;
      /** The provider's own price of this call in USD, where it is authoritative (OpenRouter). */
      readonly costUsd?: number | undefined;
    }
  | { readonly type: "failed"; readonly failure: Failure; readonly usage?: Usage | null | undefined };

/**
 * A model provider: an object with `name`, `stream`, `models`. `stream` never throws but for an abort of `signal`
 * (then it throws the signal's reason). Events come in batches, one per piece of body read, so that a burst of deltas
 * costs one await.
 */
export type ModelProvider = {
  readonly name: string;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelEvent[]>;
  models(): readonly ModelInfo[];
};

/** The four roles. */
export const ModelRole = z.enum(["main", "fast", "thinking", "embed"]);
export type ModelRole = z.infer<typeof ModelRole>;

/** What the engine asks of the model registry. Money in integer nano-dollars (1e-9 USD). */
export type ModelCatalog = {
  /** Never fails: an unknown model gets the default window and prices, marked `estimated`. */
  info(model: string, provider?: string): ModelInfo;
  costNano(info: ModelInfo, usage: Usage): number;
};
