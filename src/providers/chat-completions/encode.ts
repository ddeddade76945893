import type { Block, ImageBlock, Message, ToolResultBlock, ToolUseBlock } from "../../contract/messages.ts";
import type { ModelRequest, ToolDefinition } from "../../contract/model.ts";
import { type Answered, hasText, NO_RESULT, resultParts, toTurns } from "../transport/conversation.ts";
import { type NameRule, wireName } from "../transport/names.ts";
import { objectSchema } from "../transport/object-schema.ts";
import { createTurnJoiner } from "../transport/prefix.ts";
import { remember } from "../transport/remember.ts";
import { detailsKey } from "./decode.ts";
import { addDetails, type Detail } from "./reasoning-details.ts";
import type { ChatDialect } from "./wire.ts";

/** OpenAI takes ids of at most 40 characters. */
const ID: NameRule = { allowed: /^[\x21-\x7e]+$/, max: 40 };

type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };
type Encoded = {
  /** Message JSON of an assistant message, or of a user message without results. */
  readonly whole: string;
  readonly parts: readonly Part[];
  readonly calls: readonly ToolUseBlock[];
  readonly details: readonly Detail[];
  readonly results: ReadonlyMap<ToolResultBlock, { readonly json: string; readonly images: readonly Part[] }>;
};

export type ChatEncoder = {
  /** The `messages` array as JSON text. `mark`: cache marks on content parts (Anthropic and Gemini models behind a router). */
  messages(request: ModelRequest, mark: boolean): string;
  tools(tools: readonly ToolDefinition[]): string;
};

/**
 * Encodes history for Chat Completions (provider-protocols 1.5, 3). The text of a message is kept by the message's identity,
 * so a turn of a long session encodes only what is new.
 */
export function createChatEncoder(dialect: ChatDialect): ChatEncoder {
  const joined = createTurnJoiner();
  const encoded = remember((message: Message): Encoded => encodeMessage(message, dialect));
  const keeps = (block: Block, message: Message): boolean => {
    if (block.type === "text") return hasText(block.text);
    return block.type !== "thinking" || encoded(message).parts.length + encoded(message).calls.length > 0;
  };

  return {
    messages(request, mark) {
      const turns = toTurns(request.messages, keeps);
      const out = systemMessage(request, mark);
      if (turns[0]?.role !== "user") out.push(JSON.stringify({ role: "user", content: "Continue." }));
      const rest = joined(request.messages, "", turns, (turn, at) => {
        const [only] = turn.messages;
        const list = turn.messages.map(encoded);
        if (turn.role === "assistant") {
          return only && list.length === 1 && list[0]
            ? list[0].whole
            : assistant(
                list.flatMap((e) => e.parts),
                turn.calls,
                list.flatMap((e) => e.details),
                dialect,
              );
        }
        const images: Part[] = [];
        const own = turn.results.map((answered) => toolMessage(answered, encoded, images));
        const parts = [...images, ...list.flatMap((e) => e.parts)];
        const last = mark && at === turns.length - 1 && turns.length > 1;
        if (parts.length === 0) return own.join(",");
        own.push(!last && images.length === 0 && list.length === 1 && list[0] ? list[0].whole : user(parts, last));
        return own.join(",");
      });
      return `[${[...out, rest].filter((json) => json !== "").join(",")}]`;
    },
    tools: remember((tools: readonly ToolDefinition[]): string =>
      JSON.stringify(
        // `strict` stays off: it refuses most foreign schemas.
        tools.map((tool) => ({
          type: "function",
          function: {
            name: wireName(tool.name),
            description: tool.description,
            parameters: objectSchema(tool.inputSchema),
          },
        })),
      ),
    ),
  };
}

const MARK = { cache_control: { type: "ephemeral" } };

/** One system message: chat templates of local servers take no second one. */
function systemMessage(request: ModelRequest, mark: boolean): string[] {
  const blocks = request.system.filter((block) => hasText(block.text));
  if (blocks.length === 0) return [];
  const flagged = blocks.filter((block) => block.cache).slice(-2);
  if (!mark || flagged.length === 0)
    return [JSON.stringify({ role: "system", content: blocks.map((b) => b.text).join("\n\n") })];
  return [
    JSON.stringify({
      role: "system",
      content: blocks.map((b) => ({ type: "text", text: b.text, ...(flagged.includes(b) ? MARK : {}) })),
    }),
  ];
}

function encodeMessage(message: Message, dialect: ChatDialect): Encoded {
  const parts: Part[] = [];
  const calls: ToolUseBlock[] = [];
  const details: Detail[] = [];
  const results = new Map<ToolResultBlock, { json: string; images: Part[] }>();
  for (const block of message.content) {
    if (block.type === "text" && hasText(block.text)) parts.push({ type: "text", text: block.text });
    if (block.type === "image") parts.push(image(block));
    if (block.type === "tool_use") calls.push(block);
    if (block.type === "tool_result") results.set(block, toolResult(block));
    else if (block.type !== "image" && dialect.reasoningDetails)
      addDetails(details, storedDetails(block.provider_metadata?.[detailsKey(dialect)]));
  }
  const whole =
    message.role === "assistant"
      ? assistant(parts, distinct(calls), details, dialect)
      : parts.length > 0
        ? user(parts, false)
        : "";
  return { whole, parts, calls, details, results };
}

function distinct(calls: readonly ToolUseBlock[]): readonly ToolUseBlock[] {
  return [...new Map(calls.toReversed().map((call) => [call.id, call])).values()].toReversed();
}

function storedDetails(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `content` stays null beside calls without text; arguments are always valid JSON text, some servers answer 400 otherwise. */
function assistant(
  parts: readonly Part[],
  calls: readonly ToolUseBlock[],
  details: readonly Detail[],
  dialect: ChatDialect,
): string {
  const text = joinText(parts);
  return JSON.stringify({
    role: "assistant",
    content: text === "" && calls.length > 0 && !dialect.textOnly ? null : text,
    ...(calls.length > 0
      ? {
          tool_calls: calls.map((call) => ({
            id: wireName(call.id, ID),
            type: "function",
            function: { name: wireName(call.name), arguments: JSON.stringify(call.input) },
          })),
        }
      : {}),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
  });
}

function user(parts: readonly Part[], mark: boolean): string {
  if (mark)
    return JSON.stringify({
      role: "user",
      content: parts.map((part, at) => (at === parts.length - 1 ? { ...part, ...MARK } : part)),
    });
  return JSON.stringify({
    role: "user",
    content: parts.some((part) => part.type === "image_url") ? parts : joinText(parts),
  });
}

function joinText(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .filter((text) => text !== "")
    .join("\n\n");
}

function image(block: ImageBlock): Part {
  return { type: "image_url", image_url: { url: `data:${block.media_type};base64,${block.data}` } };
}

/** Tool messages carry text only: images go into a user message after all results. */
function toolResult(block: ToolResultBlock): { json: string; images: Part[] } {
  const parts = resultParts(block);
  const images = parts.filter((part): part is ImageBlock => part.type === "image").map(image);
  const text =
    typeof block.content === "string" && parts.length > 0
      ? block.content
      : parts
          .map((part) => (part.type === "text" ? part.text : ""))
          .filter((t) => t !== "")
          .join("\n");
  const shown = text || (images.length > 0 ? "(image, see the next message)" : "(no output)");
  // The wire has no error flag; a model must still be able to tell.
  const content = block.is_error && !/error/i.test(shown.slice(0, 40)) ? `Error: ${shown}` : shown;
  return { json: JSON.stringify({ role: "tool", tool_call_id: wireName(block.tool_use_id, ID), content }), images };
}

function toolMessage({ call, result }: Answered, encoded: (message: Message) => Encoded, images: Part[]): string {
  const known = result && encoded(result.message).results.get(result.block);
  if (!known)
    return JSON.stringify({ role: "tool", tool_call_id: wireName(call.id, ID), content: `Error: ${NO_RESULT}` });
  if (known.images.length > 0)
    images.push({ type: "text", text: `Image returned by the tool call ${wireName(call.id, ID)}:` }, ...known.images);
  return known.json;
}
