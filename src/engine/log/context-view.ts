import type { EntryOf } from "../../contract/log.ts";
import type { Block, Message, ToolResultBlock } from "../../contract/messages.ts";

/** How much of the conversation the model still sees: what the newest `compacted` entry says. */
export type ContextCut = Pick<EntryOf<"compacted">, "summarized" | "trimmed" | "summary">;

export const NO_CUT: ContextCut = { summarized: 0, trimmed: 0, summary: "" };

export const OLD_OUTPUT = "[old tool output removed to save room; run the tool again if it is needed]";

/** Shorter results stay: the note would save nothing. */
const WORTH_TRIMMING = 400;

/**
 * The conversation as a model sees it under a cut (C-1). The log's messages stay as they are; assistant messages are
 * passed on untouched or not at all, so that a signed thinking block is never changed (S13).
 */
export function contextOf(messages: readonly Message[], cut: ContextCut): readonly Message[] {
  if (cut.summarized === 0 && cut.trimmed === 0) return messages;
  const rest = messages
    .slice(cut.summarized)
    .map((message, i) => (cut.summarized + i < cut.trimmed ? withoutOutput(message) : message));
  if (cut.summarized === 0) return rest;
  const opening: Block = { type: "text", text: cut.summary };
  const [first, ...others] = rest;
  // Two messages of one role in a row are refused by some providers.
  if (first?.role === "user") return [{ role: "user", content: [opening, ...first.content] }, ...others];
  return [{ role: "user", content: [opening] }, ...rest];
}

function withoutOutput(message: Message): Message {
  if (!message.content.some(isLarge)) return message;
  return {
    role: message.role,
    content: message.content.map((block) => (isLarge(block) ? { ...block, content: OLD_OUTPUT } : block)),
  };
}

function isLarge(block: Block): block is ToolResultBlock {
  if (block.type !== "tool_result") return false;
  return typeof block.content !== "string" || block.content.length > WORTH_TRIMMING;
}
