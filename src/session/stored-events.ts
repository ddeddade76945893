import type { LiveEvent } from "../contract/events.ts";
import { encodeFrame } from "./frames.ts";

/** An event row: its number, or for coalesced deltas the last number and the pieces' (number, length). */
export type EventRow = {
  readonly seq: number;
  readonly runId: string;
  readonly type: string;
  /** Event data as sent; for coalesced deltas with the joined text. */
  readonly data: string;
  readonly pieces: readonly (readonly [seq: number, length: number])[] | undefined;
};

/** The frame a client gets that has seen everything up to `after`; undefined when it has seen all of the row. */
export function replayFrame(row: EventRow, after: number): string | undefined {
  if (row.seq <= after) return undefined;
  const { pieces } = row;
  if (!pieces || (pieces[0]?.[0] ?? row.seq) > after) return encodeFrame(row.seq, row.type, row.data);
  const seen = pieces.reduce((length, [seq, n]) => (seq <= after ? length + n : length), 0);
  const data = JSON.parse(row.data) as { text: string; run_id: string };
  return encodeFrame(row.seq, row.type, JSON.stringify({ ...data, text: data.text.slice(seen) }));
}

/**
 * Deltas that were shown and not stored yet. Neighbours of one kind become one row; a replay then shows the same text in
 * fewer, larger deltas (decisions 6).
 */
export class DeltaBuffer {
  #rows: { seq: number; runId: string; type: string; text: string; pieces: [number, number][] }[] = [];
  #length = 0;

  /** Characters waiting. */
  get length(): number {
    return this.#length;
  }

  add(seq: number, runId: string, event: Extract<LiveEvent, { type: "text_delta" | "thinking_delta" }>): void {
    this.#length += event.text.length;
    const last = this.#rows.at(-1);
    if (last && last.type === event.type && last.runId === runId) {
      last.seq = seq;
      last.text += event.text;
      last.pieces.push([seq, event.text.length]);
      return;
    }
    this.#rows.push({ seq, runId, type: event.type, text: event.text, pieces: [[seq, event.text.length]] });
  }

  /** Takes everything out as rows to be stored. */
  drain(): EventRow[] {
    const rows = this.#rows.map((row) => ({
      seq: row.seq,
      runId: row.runId,
      type: row.type,
      data: JSON.stringify({ text: row.text, run_id: row.runId }),
      pieces: row.pieces,
    }));
    this.#rows = [];
    this.#length = 0;
    return rows;
  }
}
