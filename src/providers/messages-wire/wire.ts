import { z } from "zod";

/** Frames of the Messages stream (provider-protocols 2). Deltas are looked at by hand, the rest is parsed. */
export const UsageFrame = z.object({
  input_tokens: z.number().nonnegative().optional().catch(undefined),
  output_tokens: z.number().nonnegative().optional().catch(undefined),
  cache_read_input_tokens: z.number().nonnegative().optional().catch(undefined),
  cache_creation_input_tokens: z.number().nonnegative().optional().catch(undefined),
  /** The same by lifetime; some gateways give nothing else. */
  cache_creation: z.record(z.string(), z.unknown()).optional().catch(undefined),
});
export type UsageFrame = z.infer<typeof UsageFrame>;

export const BlockStart = z.looseObject({
  type: z.string(),
  text: z.string().optional().catch(undefined),
  thinking: z.string().optional().catch(undefined),
  signature: z.string().optional().catch(undefined),
  data: z.string().optional().catch(undefined),
  id: z.string().optional().catch(undefined),
  name: z.string().optional().catch(undefined),
  input: z.unknown().optional(),
});
export type BlockStart = z.infer<typeof BlockStart>;

export const WholeMessage = z.looseObject({
  content: z.array(BlockStart),
  stop_reason: z.string().nullish().catch(undefined),
  stop_sequence: z.string().nullish().catch(undefined),
  usage: z.unknown().optional(),
});

/** A delta; which field is set depends on `type`. Checked field by field where used. */
export type Delta = {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly thinking?: unknown;
  readonly signature?: unknown;
  readonly partial_json?: unknown;
};
