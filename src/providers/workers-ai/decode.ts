import { isRecord } from "../transport/tool-arguments.ts";

/**
 * The older models' frames, `{"response":"…","tool_calls":[{name,arguments}],"usage":{…}}`, as chunks of Chat Completions;
 * newer models send those chunks themselves.
 */
export function toChunk(value: Record<string, unknown>): Record<string, unknown> {
  if (value.choices !== undefined || value.error) return value;
  if (Array.isArray(value.errors) && isRecord(value.errors[0])) return { error: value.errors[0] };
  // The answer of a REST call is wrapped.
  const frame = isRecord(value.result) ? value.result : value;
  const content = text(frame.response);
  const delta = Array.isArray(frame.tool_calls)
    ? { content, tool_calls: frame.tool_calls.filter(isRecord).map(toCall) }
    : { content };
  return { choices: [{ index: 0, delta, finish_reason: frame.finish_reason }], usage: frame.usage };
}

/** Digits come as numbers from some models, structured answers as objects. */
function text(response: unknown): string {
  if (typeof response === "string") return response;
  return response === null || response === undefined ? "" : JSON.stringify(response);
}

function toCall(call: Record<string, unknown>): Record<string, unknown> {
  return isRecord(call.function) ? call : { id: call.id, function: { name: call.name, arguments: call.arguments } };
}
