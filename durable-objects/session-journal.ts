import { isTerminal, type LiveEvent } from "../src/contract/events.ts";
import type { Commit } from "../src/contract/journal.ts";
import type { Entry } from "../src/contract/log.ts";
import type { SessionFold } from "../src/engine/log/fold.ts";
import { SessionTree } from "../src/engine/log/tree.ts";
import { encodeFrame, eventData } from "../src/session/frames.ts";
import { Sequence } from "../src/session/sequence.ts";
import { DeltaBuffer, type EventRow, replayFrame } from "../src/session/stored-events.ts";
import type { FrameHub } from "./frame-hub.ts";
import type { SessionStore } from "./session-store.ts";

/** Deltas are stored when so much waits, or so long after the first. */
const DELTA_CHARACTERS = 4_096;
const DELTA_MS = 250;
const SEQUENCE_BLOCK = 256;
/** Frames of a replay that travel in one message. */
const REPLAY_CHARACTERS = 256 * 1024;

/** Where a message of the fold came from; the n-th place is the n-th message's. */
export type MessagePlace = { readonly runId: string; readonly at: number };

type State = { readonly tree: SessionTree; readonly sequence: Sequence; readonly places: MessagePlace[] };

/**
 * The one writer of a session: takes what the engine yields, stores it in one transaction, then shows it. What a client
 * can see survives an eviction, but for deltas of the last quarter second, which a restarted turn takes back.
 */
export class SessionJournal {
  readonly #store: SessionStore;
  readonly #hub: FrameHub;
  readonly #root: () => string;
  readonly #now: () => number;
  #state: State | undefined;
  readonly #deltas = new DeltaBuffer();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(store: SessionStore, hub: FrameHub, root: () => string, now: () => number) {
    this.#store = store;
    this.#hub = hub;
    this.#root = root;
    this.#now = now;
  }

  /** All agents of the session. */
  get tree(): SessionTree {
    return this.#load().tree;
  }

  /** The session's own agent. */
  get fold(): SessionFold {
    return this.tree.root;
  }

  /** The highest event number a client can have seen. */
  get highest(): number {
    return this.#load().sequence.highest;
  }

  get last(): number {
    return this.#load().sequence.last;
  }

  commit(runId: string, { entries, events, audit }: Pick<Commit, "entries" | "events" | "audit">): void {
    const state = this.#load();
    const { sequence } = state;
    const at = this.#now();
    const waiting = this.#deltas.drain();
    let frames = "";
    try {
      this.#store.transaction(() => {
        const rows: EventRow[] = events.map((event) => {
          const row = {
            seq: sequence.take(),
            runId,
            type: event.type,
            data: eventData(event, runId),
            pieces: undefined,
          };
          frames += encodeFrame(row.seq, row.type, row.data);
          return row;
        });
        this.#store.addEvents(waiting);
        this.#store.append(runId, entries, at);
        this.#store.addEvents(rows);
        this.#store.addAudit(audit);
      });
    } catch (error) {
      // Nothing was stored: what memory believes is worth nothing any more.
      this.#state = undefined;
      this.#store.forgetLogSeq();
      throw error;
    }
    for (const entry of entries) append(state, entry, { runId, at });
    if (frames !== "") this.#hub.push(runId, frames);
    if (events.some(isTerminal)) this.#hub.endRun(runId);
  }

  live(runId: string, events: readonly LiveEvent[]): void {
    const { sequence } = this.#load();
    let frames = "";
    for (const event of events) {
      const seq = sequence.take();
      this.#deltas.add(seq, runId, event);
      frames += encodeFrame(seq, event.type, eventData(event, runId));
    }
    this.#hub.push(runId, frames);
    if (this.#deltas.length >= DELTA_CHARACTERS) this.#storeDeltas();
    else this.#timer ??= setTimeout(() => this.#storeDeltas(), DELTA_MS);
  }

  /** Stores and sends what waits. */
  flush(): void {
    this.#storeDeltas();
    this.#hub.flush();
  }

  /** Sends a socket everything after its cursor that is stored; `flush` comes before. */
  replay(after: number, runId: string | undefined, send: (text: string) => void): void {
    let text = "";
    for (const row of this.#store.events(after, runId)) {
      text += replayFrame(row, after) ?? "";
      if (text.length < REPLAY_CHARACTERS) continue;
      send(text);
      text = "";
    }
    if (text !== "") send(text);
  }

  /** Nothing runs now: stores and sends the rest, so that the object may be unloaded at any time. */
  settle(): void {
    this.flush();
    this.#load().sequence.settle();
  }

  /** The session was deleted: memory of it, too. */
  reset(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#deltas.drain();
    this.#state = undefined;
    this.#store.forgetLogSeq();
  }

  /** Places of the fold's messages, oldest first. */
  get places(): readonly MessagePlace[] {
    return this.#load().places;
  }

  #storeDeltas(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const rows = this.#deltas.drain();
    if (rows.length > 0) this.#store.transaction(() => this.#store.addEvents(rows));
  }

  #load(): State {
    if (this.#state) return this.#state;
    const sequence = new Sequence(this.#store.reservedSeq(), SEQUENCE_BLOCK, (n) => this.#store.setReservedSeq(n));
    const state: State = { tree: new SessionTree(this.#root()), sequence, places: [] };
    for (const { entry, runId, at } of this.#store.entries()) append(state, entry, { runId, at });
    this.#state = state;
    return state;
  }
}

function append({ tree, places }: State, entry: Entry, place: MessagePlace): void {
  tree.append(entry);
  while (places.length < tree.root.messages.length) places.push(place);
}
