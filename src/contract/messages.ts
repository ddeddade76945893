import { z } from "zod";

/** Opaque strings a provider wants back untouched, e.g. a thinking signature. Keys are the provider's own. */
export const ProviderMetadata = z.record(z.string(), z.string());
export type ProviderMetadata = z.infer<typeof ProviderMetadata>;

export const TextBlock = z.object({
  type: z.literal("text"),
  text: z.string(),
  provider_metadata: ProviderMetadata.optional(),
});
export const ImageBlock = z.object({
  type: z.literal("image"),
  media_type: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
  /** Base64. */
  data: z.string(),
});
export const ThinkingBlock = z.object({
  type: z.literal("thinking"),
  /** May be empty: a redacted block lives in its metadata alone. */
  text: z.string(),
  provider_metadata: ProviderMetadata.optional(),
});
export const ToolUseBlock = z.object({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** The arguments were no JSON object; the engine answers with an error result and never runs the call. */
  input_error: z.literal(true).optional(),
  /** The arguments as they came, kept when `input_error` is set. */
  raw_input: z.string().optional(),
  provider_metadata: ProviderMetadata.optional(),
});
export const ToolResultContent = z.union([z.string(), z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock]))]);
export const ToolResultBlock = z.object({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: ToolResultContent,
  is_error: z.boolean().optional(),
});

export const Block = z.discriminatedUnion("type", [
  TextBlock,
  ImageBlock,
  ThinkingBlock,
  ToolUseBlock,
  ToolResultBlock,
]);
export const Message = z.object({ role: z.enum(["user", "assistant"]), content: z.array(Block) });

export type TextBlock = z.infer<typeof TextBlock>;
export type ImageBlock = z.infer<typeof ImageBlock>;
export type ThinkingBlock = z.infer<typeof ThinkingBlock>;
export type ToolUseBlock = z.infer<typeof ToolUseBlock>;
export type ToolResultBlock = z.infer<typeof ToolResultBlock>;
export type ToolResultContent = z.infer<typeof ToolResultContent>;
export type Block = z.infer<typeof Block>;
export type Message = z.infer<typeof Message>;
/** What a model answers with. */
export type AssistantBlock = TextBlock | ThinkingBlock | ToolUseBlock;
