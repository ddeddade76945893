import { z } from "zod";

/** Figures of a usage object; every server fills a part of it (provider-protocols 1.2, 3). */
export const UsageFrame = z.looseObject({
  prompt_tokens: z.number().nonnegative().optional().catch(undefined),
  completion_tokens: z.number().nonnegative().optional().catch(undefined),
  prompt_cache_hit_tokens: z.number().nonnegative().optional().catch(undefined),
  cost: z.number().nonnegative().optional().catch(undefined),
  prompt_tokens_details: z
    .looseObject({
      cached_tokens: z.number().nonnegative().optional().catch(undefined),
      cache_write_tokens: z.number().nonnegative().optional().catch(undefined),
    })
    .nullish()
    .catch(undefined),
});

/** A fragment of a tool call. Looked at by hand: most frames of a call are one. */
export type CallFragment = {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
};

/** What differs between the servers that speak this wire. */
export type ChatDialect = {
  readonly name: string;
  /** `<think>…</think>` at the start of the answer is reasoning. */
  readonly thinkTags: boolean;
  /** Send signed `reasoning_details` back. */
  readonly reasoningDetails: boolean;
  /** `content` must be text, empty beside calls, where others take null. */
  readonly textOnly?: boolean;
  /** Makes a chunk of this wire out of a frame that is none. */
  readonly toChunk?: (frame: Record<string, unknown>) => Record<string, unknown>;
};
