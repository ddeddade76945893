import type { SseMessage } from "../../shared/sse.ts";
import { isRecord } from "../transport/tool-arguments.ts";
import type { StreamDecoder } from "../transport/wire.ts";

/**
 * The older models' frames, `{"response":"…","tool_calls":[{name,arguments}],"usage":{…}}`, given to the decoder of Chat
 * Completions as that wire's chunks; newer models send those chunks themselves.
 */
export function createWorkersAiDecoder(chat: StreamDecoder): StreamDecoder {
  return { ...chat, push: (message, out) => chat.push(toChunk(message), out) };
}

function toChunk(message: SseMessage): SseMessage {
  // A quoted name followed by a colon cannot stand inside JSON text: its quotes would be escaped there.
  if (message.data.includes('"choices":')) return message;
  let value: unknown;
  try {
    value = JSON.parse(message.data);
  } catch {
    return message;
  }
  if (!isRecord(value) || value.error) return message;
  if (Array.isArray(value.errors) && isRecord(value.errors[0])) return json({ error: value.errors[0] });
  // The answer of a REST call is wrapped.
  const frame = isRecord(value.result) ? value.result : value;
  const calls = Array.isArray(frame.tool_calls) ? frame.tool_calls.filter(isRecord).map(toCall) : [];
  const delta = { content: text(frame.response), ...(calls.length > 0 ? { tool_calls: calls } : {}) };
  return json({
    choices: [{ index: 0, delta, finish_reason: frame.finish_reason ?? null }],
    ...(isRecord(frame.usage) ? { usage: frame.usage } : {}),
  });
}

function json(value: unknown): SseMessage {
  return { data: JSON.stringify(value) };
}

/** Digits come as numbers from some models, structured answers as objects. */
function text(response: unknown): string {
  if (typeof response === "string") return response;
  return response === null || response === undefined ? "" : JSON.stringify(response);
}

function toCall(call: Record<string, unknown>): Record<string, unknown> {
  if (isRecord(call.function)) return call;
  return { id: call.id, function: { name: call.name, arguments: call.arguments } };
}
