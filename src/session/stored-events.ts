import { deltaOf, type LiveEvent, withText } from "../contract/events.ts";
import { encodeFrame, eventData } from "./frames.ts";

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

type Waiting = {
  seq: number;
  runId: string;
  event: LiveEvent;
  /** The stream its text belongs to; undefined: no delta, a row of its own. */
  stream: string | undefined;
  text: string;
  pieces: [number, number][];
};

/**
 * Live events that were shown and not stored yet. Neighbouring deltas of one kind become one row; a replay then shows the
 * same text in fewer, larger deltas (decisions 6).
 */
export class DeltaBuffer {
  #rows: Waiting[] = [];
  #length = 0;

  /** Characters waiting. */
  get length(): number {
    return this.#length;
  }

  add(seq: number, runId: string, event: LiveEvent): void {
    const delta = deltaOf(event);
    const text = delta?.text ?? "";
    this.#length += delta ? text.length : String(event.type === "tool_progress" ? event.detail : "").length;
    const last = this.#rows.at(-1);
    if (last && delta && last.stream === delta.stream && last.runId === runId) {
      last.seq = seq;
      last.text += text;
      last.pieces.push([seq, text.length]);
      return;
    }
    this.#rows.push({ seq, runId, event, stream: delta?.stream, text, pieces: [[seq, text.length]] });
  }

  /** Takes everything out as rows to be stored. */
  drain(): EventRow[] {
    const rows = this.#rows.map(
      ({ seq, runId, event, stream, text, pieces }): EventRow => ({
        seq,
        runId,
        type: event.type,
        data: eventData(stream === undefined ? event : withText(event, text), runId),
        pieces: pieces.length > 1 ? pieces : undefined,
      }),
    );
    this.#rows = [];
    this.#length = 0;
    return rows;
  }
}
