import { isTerminal } from "../src/contract/events.ts";
import { SOCKET_DONE } from "../src/contract/sessions.ts";
import { encodeFrame, eventData } from "../src/session/frames.ts";
import type { FrameHub } from "./frame-hub.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { SessionQueries } from "./session-queries.ts";
import type { SessionStore } from "./session-store.ts";

export type StreamPorts = {
  readonly store: SessionStore;
  readonly journal: SessionJournal;
  readonly hub: FrameHub;
  readonly queries: SessionQueries;
  running(): boolean;
};

/** Opens streams: what a client has not seen yet, from the table; then it follows the hub. */
export class SessionStreams {
  readonly #ports: StreamPorts;

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  /** The socket of one stream: `after` is the last number seen, `run` limits it to one run. */
  open(after: number, run: string | undefined): Response {
    const { journal, hub } = this.#ports;
    const { 0: client, 1: server } = new WebSocketPair();
    // What is on its way to the others goes first, or the new socket would get it twice.
    journal.flush();
    hub.accept(server, run);
    journal.replay(this.#reset(server, after, run), run, (text) => server.send(text));
    if (run !== undefined && this.#isOver(run)) server.close(SOCKET_DONE, "run ended");
    return new Response(null, { status: 101, webSocket: client });
  }

  /** A client whose place is not kept any more gets a snapshot instead; gives where its replay begins. */
  #reset(socket: WebSocket, after: number, run: string | undefined): number {
    const { store, queries, running } = this.#ports;
    if (after >= store.droppedUpTo() || run !== undefined) return after;
    const snapshot = queries.snapshot(store.meta()?.sessionId ?? "", running());
    const from = this.#afterSnapshot();
    socket.send(encodeFrame(from, "reset", eventData({ type: "reset", snapshot }, "")));
    return from;
  }

  /** The last event that a snapshot makes needless: the turn that is under way is still to be shown. */
  #afterSnapshot(): number {
    const { store, journal } = this.#ports;
    const { run } = journal.fold;
    const begun = run && !run.outcome && !run.turnEnded ? store.lastTurnStart(run.config.run_id) : undefined;
    return begun === undefined ? journal.last : begun - 1;
  }

  #isOver(run: string): boolean {
    const { store, journal } = this.#ports;
    const type = store.lastEventType(run);
    if (type !== undefined) return isTerminal({ type });
    // No event (any more), and none to come.
    return journal.fold.run?.config.run_id !== run && !store.isQueued(run);
  }
}
