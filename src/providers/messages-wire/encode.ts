import type {
  Block,
  ImageBlock,
  Message,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
} from "../../contract/messages.ts";
import type { ModelRequest, ToolDefinition } from "../../contract/model.ts";
import { hasText, NO_RESULT, resultParts, type Turn, toTurns } from "../transport/conversation.ts";
import { wireName } from "../transport/names.ts";
import { objectSchema } from "../transport/object-schema.ts";
import { createTurnJoiner } from "../transport/prefix.ts";
import { remember } from "../transport/remember.ts";

export type MessagesDialect = {
  /** Prefix of this vendor's metadata keys. */
  readonly vendor: string;
  /** M2 models take no images: they are replaced by a note. */
  readonly images: boolean;
};

type Piece = { readonly json: string; readonly markable: boolean; readonly call?: ToolUseBlock };
type Encoded = {
  readonly own: readonly Piece[];
  readonly kept: readonly Block[];
  readonly results: ReadonlyMap<ToolResultBlock, string>;
  readonly signed: boolean;
};

export type MessagesEncoder = {
  /** The `messages` array as JSON text; `mark` puts a cache mark on the end of the history. */
  messages(request: ModelRequest, mark: boolean): { readonly json: string; readonly openLoopWithoutThinking: boolean };
  tools(tools: readonly ToolDefinition[], mark: boolean): string;
};

const MARK = ',"cache_control":{"type":"ephemeral"}}';
const IMAGE_NOTE = "[image left out: this model takes no images]";

/**
 * Encodes history for the Messages wire (provider-protocols 1.5, 2). What a message encodes to depends on nothing but the
 * message, so its text is kept by the message's identity: a long history costs string joins per turn, not a new encoding.
 */
export function createMessagesEncoder(dialect: MessagesDialect): MessagesEncoder {
  const joined = createTurnJoiner();
  const toolJson = remember((tools: readonly ToolDefinition[]): readonly string[] =>
    tools.map((tool) =>
      JSON.stringify({
        name: wireName(tool.name),
        description: tool.description,
        input_schema: objectSchema(tool.inputSchema),
      }),
    ),
  );

  const encoded = remember((message: Message): Encoded => encodeMessage(message, dialect));

  const pieces = (turn: Turn): readonly Piece[] => {
    const own =
      turn.messages.length === 1 && turn.messages[0]
        ? encoded(turn.messages[0]).own
        : turn.messages.flatMap((m) => encoded(m).own);
    // A call whose id came twice has one result, so it is sent once.
    if (turn.role === "assistant") return own.filter(({ call }) => !call || turn.calls.includes(call));
    if (turn.results.length === 0) return own;
    const results = turn.results.map(({ call, result }) => ({
      json: (result && encoded(result.message).results.get(result.block)) ?? madeUp(call),
      markable: true,
    }));
    return [...results, ...own];
  };

  return {
    messages(request, mark) {
      const turns = toTurns(
        request.messages,
        (block, message) => block.type === "tool_result" || encoded(message).kept.includes(block),
      );
      // The first message must be the user's; a history cut at its start may begin with the assistant's.
      const opening = turns[0]?.role === "user" ? "" : userMessage('{"type":"text","text":"Continue."}');
      const rest = joined(request.messages, "", turns, (turn, at) => {
        const list = pieces(turn);
        const last = at === turns.length - 1;
        // One-shot calls are not marked: writing a cache nobody reads costs a quarter more.
        const json = last && mark && turns.length > 1 ? marked(list) : list.map((piece) => piece.json);
        return turn.role === "user"
          ? userMessage(json.join(","))
          : `{"role":"assistant","content":[${json.join(",")}]}`;
      });
      const comma = opening !== "" && rest !== "" ? "," : "";
      return { json: `[${opening}${comma}${rest}]`, openLoopWithoutThinking: openLoop(turns, encoded) };
    },
    tools(tools, mark) {
      const list = toolJson(tools);
      const last = list.at(-1);
      return `[${(mark && last ? [...list.slice(0, -1), last.slice(0, -1) + MARK] : list).join(",")}]`;
    },
  };
}

function userMessage(content: string): string {
  return `{"role":"user","content":[${content}]}`;
}

function marked(list: readonly Piece[]): readonly string[] {
  const at = list.findLastIndex((piece) => piece.markable);
  return list.map((piece, index) => (index === at ? piece.json.slice(0, -1) + MARK : piece.json));
}

/** Results of a call go out alone and the turn that made it has no signed thinking: thinking cannot be on in this request. */
function openLoop(turns: readonly Turn[], encoded: (message: Message) => Encoded): boolean {
  const [before, last] = [turns.at(-2), turns.at(-1)];
  if (last?.role !== "user" || last.results.length === 0 || last.messages.length > 0 || !before) return false;
  return !before.messages.some((message) => encoded(message).signed);
}

function encodeMessage(message: Message, dialect: MessagesDialect): Encoded {
  let own: { block: Block; piece: Piece }[] = [];
  const results = new Map<ToolResultBlock, string>();
  for (const block of message.content) {
    if (block.type === "tool_result") results.set(block, encodeResult(block, dialect));
    else {
      const piece = encodeBlock(block, dialect);
      if (piece) own.push({ block, piece });
    }
  }
  // A turn that ends in thinking is refused: it was cut there, and its thinking belongs to nothing.
  if (own.at(-1)?.block.type === "thinking") own = own.filter(({ block }) => block.type !== "thinking");
  return {
    own: own.map(({ piece }) => piece),
    kept: own.map(({ block }) => block),
    results,
    signed: own.some(({ block }) => block.type === "thinking"),
  };
}

function encodeBlock(block: Exclude<Block, ToolResultBlock>, dialect: MessagesDialect): Piece | undefined {
  switch (block.type) {
    case "text":
      return hasText(block.text)
        ? { json: JSON.stringify({ type: "text", text: block.text }), markable: true }
        : undefined;
    case "image":
      return { json: JSON.stringify(image(block, dialect)), markable: true };
    case "thinking":
      return thinking(block, dialect.vendor);
    case "tool_use":
      return { json: JSON.stringify(toolUse(block)), markable: true, call: block };
    default:
      return block satisfies never;
  }
}

/** Signed thinking goes back to the vendor that signed it, byte for byte; other thinking is not sent. */
function thinking(block: ThinkingBlock, vendor: string): Piece | undefined {
  const redacted = block.provider_metadata?.[`${vendor}_redacted`];
  if (redacted !== undefined)
    return { json: JSON.stringify({ type: "redacted_thinking", data: redacted }), markable: false };
  const signature = block.provider_metadata?.[`${vendor}_signature`];
  if (signature === undefined) return undefined;
  return { json: JSON.stringify({ type: "thinking", thinking: block.text, signature }), markable: false };
}

const ID = { allowed: /^[A-Za-z0-9_-]+$/, max: 64 };

function toolUse(block: ToolUseBlock): unknown {
  return { type: "tool_use", id: wireName(block.id, ID), name: wireName(block.name), input: block.input };
}

function madeUp(call: ToolUseBlock): string {
  return JSON.stringify({
    type: "tool_result",
    tool_use_id: wireName(call.id, ID),
    content: NO_RESULT,
    is_error: true,
  });
}

function encodeResult(block: ToolResultBlock, dialect: MessagesDialect): string {
  const parts = resultParts(block);
  const [only] = parts;
  // An error result without content is refused.
  const content =
    parts.length === 0
      ? block.is_error
        ? "error"
        : undefined
      : typeof block.content === "string" && only?.type === "text"
        ? only.text
        : parts.map((part) => (part.type === "text" ? text(part) : image(part, dialect)));
  return JSON.stringify({
    type: "tool_result",
    tool_use_id: wireName(block.tool_use_id, ID),
    ...(content === undefined ? {} : { content }),
    ...(block.is_error ? { is_error: true } : {}),
  });
}

function text(block: TextBlock): unknown {
  return { type: "text", text: block.text };
}

function image(block: ImageBlock, dialect: MessagesDialect): unknown {
  if (!dialect.images) return { type: "text", text: IMAGE_NOTE };
  return { type: "image", source: { type: "base64", media_type: block.media_type, data: block.data } };
}
