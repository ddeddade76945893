import { type EngineEvent, isTerminal, type LiveEvent } from "../src/contract/events.ts";
import type { Commit } from "../src/contract/journal.ts";
import type { Entry } from "../src/contract/log.ts";
import type { SessionFold } from "../src/engine/log/fold.ts";
import { SessionTree } from "../src/engine/log/tree.ts";
import { encodeFrame, eventData } from "../src/session/frames.ts";
import { Sequence } from "../src/session/sequence.ts";
import { DeltaBuffer, type EventRow, replayFrame } from "../src/session/stored-events.ts";
import type { FrameHub } from "./frame-hub.ts";
import type { SessionStore } from "./session-store.ts";
import { unansweredQuestions } from "./unanswered-questions.ts";

/** Deltas are stored when so much waits, or so long after the first. */
const DELTA_CHARACTERS = 4_096;
const DELTA_MS = 250;
/** How long a closed block may wait for the rest of its reply; a commit less is a disk write less. */
const HOLD_MS = 10;
const SEQUENCE_BLOCK = 256;
/** Frames of a replay that travel in one message. */
const REPLAY_CHARACTERS = 256 * 1024;

/** Where a message of the fold came from; the n-th place is the n-th message's. */
export type MessagePlace = { readonly runId: string; readonly at: number };

/** Events that are shown as soon as they are stored. */
type Held = { readonly runId: string; readonly rows: readonly EventRow[]; readonly frames: string };

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
  #held: Held | undefined;
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

  /** What the audit says of questions that end here without an answer is stored with it, whoever ends them (D-5). */
  commit(runId: string, { entries, events, audit }: Pick<Commit, "entries" | "events" | "audit">): void {
    const state = this.#load();
    const at = this.#now();
    const unanswered = unansweredQuestions({ store: this.#store, tree: state.tree, runId, entries, now: at });
    const waiting = this.#takeWaiting(runId);
    let frames = waiting.frames;
    try {
      this.#store.transaction(() => {
        const made = this.#numbered(runId, events);
        frames += made.frames;
        this.#store.addEvents(waiting.rows);
        this.#store.append(runId, entries, at);
        this.#store.addEvents(made.rows);
        this.#store.addAudit([...unanswered, ...audit]);
      });
    } catch (error) {
      // Nothing was stored: what memory believes is worth nothing any more.
      this.#state = undefined;
      throw error;
    }
    for (const entry of entries) append(state, entry, { runId, at });
    if (frames !== "") this.#hub.push(runId, frames);
    if (events.some(isTerminal)) this.#hub.endRun(runId);
  }

  /** Events nothing in the log hangs on, such as a block that closed: stored, then shown, with what follows at the latest. */
  announce(runId: string, events: readonly EngineEvent[]): void {
    const waiting = this.#takeWaiting(runId);
    const made = this.#numbered(runId, events);
    this.#held = { runId, rows: [...waiting.rows, ...made.rows], frames: waiting.frames + made.frames };
    this.#timer = setTimeout(() => this.#storeWaiting(), HOLD_MS);
  }

  live(runId: string, events: readonly LiveEvent[]): void {
    if (this.#held) this.#storeWaiting();
    const { sequence } = this.#load();
    let frames = "";
    for (const event of events) {
      const seq = sequence.take();
      this.#deltas.add(seq, runId, event);
      frames += encodeFrame(seq, event.type, eventData(event, runId));
    }
    this.#hub.push(runId, frames);
    if (this.#deltas.length >= DELTA_CHARACTERS) this.#storeWaiting();
    else this.#timer ??= setTimeout(() => this.#storeWaiting(), DELTA_MS);
  }

  /** Stores and sends what waits. */
  flush(): void {
    this.#storeWaiting();
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
    this.#drain();
    this.#state = undefined;
    this.#store.forget();
  }

  /** Places of the fold's messages, oldest first. */
  get places(): readonly MessagePlace[] {
    return this.#load().places;
  }

  /** Events with their numbers, as rows and as frames. */
  #numbered(runId: string, events: readonly EngineEvent[]): Pick<Held, "rows" | "frames"> {
    const { sequence } = this.#load();
    let frames = "";
    const rows = events.map((event): EventRow => {
      const row = { seq: sequence.take(), runId, type: event.type, data: eventData(event, runId), pieces: undefined };
      frames += encodeFrame(row.seq, row.type, row.data);
      return row;
    });
    return { rows, frames };
  }

  /** What waits, for a write of this run that is about to be made; what another run left is written by itself. */
  #takeWaiting(runId: string): Pick<Held, "rows" | "frames"> {
    if (this.#held && this.#held.runId !== runId) this.#storeWaiting();
    return this.#drain();
  }

  #drain(): Pick<Held, "rows" | "frames"> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const { rows = [], frames = "" } = this.#held ?? {};
    this.#held = undefined;
    return { rows: [...rows, ...this.#deltas.drain()], frames };
  }

  #storeWaiting(): void {
    const runId = this.#held?.runId;
    const { rows, frames } = this.#drain();
    if (rows.length > 0) this.#store.transaction(() => this.#store.addEvents(rows));
    if (runId !== undefined) this.#hub.push(runId, frames);
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
