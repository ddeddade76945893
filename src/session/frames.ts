import type { EngineEvent } from "../contract/events.ts";

/** An event with its number: strictly increasing in a session, never given twice. */
export type NumberedEvent = { readonly seq: number; readonly event: EngineEvent };

/** The data of an event as it is stored and sent: its fields without the type, plus the run it belongs to. */
export function eventData(event: EngineEvent, runId: string): string {
  const { type: _, ...fields } = event;
  return JSON.stringify({ ...fields, run_id: runId });
}

/** One SSE frame. JSON escapes line breaks, so nothing in the data can begin a frame of its own. */
export function encodeFrame(seq: number, type: string, data: string): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${data}\n\n`;
}
