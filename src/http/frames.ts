import type { FailureCategory } from "../contract/failure.ts";

/** What a message of several frames ends with. */
export type LastFrame = { readonly id: number; readonly terminal: boolean };

const FRAME_START = /^id: (\d+)\n(?:event: (done|error)\n)?/;

/**
 * The last frame of ready-made SSE text. Data is one-line JSON, so a blank line stands between frames only; looking from
 * the end costs the length of one frame, however many the message carries.
 */
export function lastFrame(text: string): LastFrame | undefined {
  const at = text.lastIndexOf("\n\nid: ");
  const match = FRAME_START.exec(at === -1 ? text : text.slice(at + 2, at + 64));
  return match ? { id: Number(match[1]), terminal: match[2] !== undefined } : undefined;
}

/** Whether the text's last frame ends a run; for frames with or without an id (a stateless run's need none). */
export function isTerminalText(text: string): boolean {
  const at = text.lastIndexOf("\n\n", text.length - 3);
  return /^(?:id: \d+\n)?event: (?:done|error)\n/.test(text.slice(at === -1 ? 0 : at + 2));
}

/** An `error` frame of the server's own (E-12). It has no id: it is no event of the session. */
export function errorFrame(error: string, category: FailureCategory, retryable: boolean): string {
  return `event: error\ndata: ${JSON.stringify({ error, category, retryable })}\n\n`;
}
