import type { Reply } from "./scripted-upstream.ts";

/** Replies of a model server in the vendors' own wire formats. */
export type ScriptedCall = {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
};
export type Turn = {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly stop?: string;
  /** Input tokens the server counts; 10 when left out. */
  readonly inputTokens?: number;
};

const sse = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Cuts a text into so many pieces, as a model streams it. */
function pieces(text: string, count = 3): string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
}

/** An Anthropic Messages stream (provider-protocols 2). */
export function anthropicTurn(turn: Turn, more: Partial<Reply> = {}): Reply {
  const chunks: string[] = [];
  const emit = (data: { type: string } & Record<string, unknown>): number => chunks.push(sse(data, data.type));
  emit({
    type: "message_start",
    message: {
      id: "msg",
      type: "message",
      role: "assistant",
      content: [],
      usage: { input_tokens: turn.inputTokens ?? 10, output_tokens: 1 },
    },
  });
  let index = 0;
  const block = (start: unknown, deltas: readonly unknown[]): void => {
    emit({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) emit({ type: "content_block_delta", index, delta });
    emit({ type: "content_block_stop", index: index++ });
  };
  if (turn.thinking !== undefined) {
    const deltas = pieces(turn.thinking).map((thinking) => ({ type: "thinking_delta", thinking }));
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...deltas,
      { type: "signature_delta", signature: "c2ln" },
    ]);
  }
  if (turn.text !== undefined) {
    block(
      { type: "text", text: "" },
      pieces(turn.text).map((text) => ({ type: "text_delta", text })),
    );
  }
  for (const call of turn.calls ?? []) {
    const deltas = pieces(JSON.stringify(call.input)).map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    block({ type: "tool_use", id: call.id, name: call.name, input: {} }, deltas);
  }
  const stop = turn.stop ?? (turn.calls?.length ? "tool_use" : "end_turn");
  emit({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } });
  emit({ type: "message_stop" });
  return { chunks, ...more };
}

/** A Chat Completions stream (provider-protocols 3). */
export function chatTurn(turn: Turn, more: Partial<Reply> = {}): Reply {
  const chunks: string[] = [];
  const emit = (choices: readonly unknown[], usage: unknown = null): number =>
    chunks.push(sse({ id: "chatcmpl", object: "chat.completion.chunk", created: 1, model: "m", choices, usage }));
  const delta = (fields: unknown): number => emit([{ index: 0, delta: fields, finish_reason: null }]);
  delta({ role: "assistant", content: null });
  for (const reasoning_content of pieces(turn.thinking ?? "")) delta({ reasoning_content });
  for (const content of pieces(turn.text ?? "")) delta({ content });
  (turn.calls ?? []).forEach((call, index) => {
    delta({ tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] });
    for (const part of pieces(JSON.stringify(call.input)))
      delta({ tool_calls: [{ index, function: { arguments: part } }] });
  });
  const stop = turn.stop ?? (turn.calls?.length ? "tool_calls" : "stop");
  emit([{ index: 0, delta: {}, finish_reason: stop }]);
  emit([], { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
  chunks.push(sse("[DONE]"));
  return { chunks, ...more };
}

/** A generateContent stream (provider-protocols 6). Calls carry no ids, as AI Studio sends them. */
export function geminiTurn(turn: Turn, more: Partial<Reply> = {}): Reply {
  const chunks: string[] = [];
  const emit = (parts: readonly unknown[], rest: Record<string, unknown> = {}, top: Record<string, unknown> = {}) =>
    chunks.push(sse({ candidates: [{ content: { role: "model", parts }, index: 0, ...rest }], ...top }));
  for (const text of pieces(turn.thinking ?? "")) emit([{ text, thought: true }]);
  for (const text of pieces(turn.text ?? "")) emit([{ text }]);
  for (const call of turn.calls ?? []) emit([{ functionCall: { name: call.name, args: call.input } }]);
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  emit([{ text: "" }], { finishReason: turn.stop ?? "STOP" }, { usageMetadata });
  return { chunks, ...more };
}

/** The beginning of a reply, up to and with the chunk that holds the text. */
export function upTo(reply: Reply, text: string): readonly string[] {
  return reply.chunks.slice(0, reply.chunks.findIndex((chunk) => chunk.includes(text)) + 1);
}
