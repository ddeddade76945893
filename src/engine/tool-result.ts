import type { EngineEvent } from "../contract/events.ts";
import type { Entry, EntryOf } from "../contract/log.ts";
import type { ToolResultContent } from "../contract/messages.ts";
import { endQuestion } from "./elicit.ts";
import type { Call } from "./log/run-state.ts";

/** The event of a stored result. */
export function resultEvent(toolName: string, entry: EntryOf<"tool_finished">): EngineEvent {
  const { call_id: id, is_error } = entry;
  return { type: "tool_result", id, tool_name: toolName, output: asText(entry.content), is_error };
}

/** A result that is text from the engine itself. */
export function textResult(
  callId: string,
  content: string,
  more: Partial<Pick<EntryOf<"tool_finished">, "is_error" | "skipped" | "denied">> = {},
): EntryOf<"tool_finished"> {
  return { kind: "tool_finished", call_id: callId, content, is_error: false, ...more };
}

/** Gives every open call of a cancelled run the result that says so (T-2). */
export function abandonCalls(calls: readonly Call[], reason: string): { entries: Entry[]; events: EngineEvent[] } {
  const results = calls.map((call) => {
    const began = call.at.phase === "started" || call.at.phase === "delegated";
    const entry = textResult(call.block.id, `error: cancelled ${began ? "while" : "before"} it ran: ${reason}`, {
      is_error: true,
      skipped: !began,
    });
    return { entry, event: resultEvent(call.block.name, entry) };
  });
  const questions = calls.flatMap((call) => endQuestion(call, reason));
  return {
    entries: [...questions, ...results.map(({ entry }) => entry)],
    events: results.map(({ event }) => event),
  };
}

function asText(content: ToolResultContent): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[image ${part.media_type}]`)).join("\n");
}
