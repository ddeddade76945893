import { SOCKET_DONE, SOCKET_GONE } from "../src/contract/sessions.ts";

/** What a socket follows; kept with the socket while the object is unloaded. */
type Attachment = { readonly run: string | null };

/**
 * Pauses between the messages of a burst, milliseconds: one message then carries all frames that came meanwhile. They grow
 * while the burst lasts, so that a turn's first delta does not wait because its `turn_start` has just left.
 */
const BURST_MS = { first: 1, longest: 10 };

/**
 * The sockets of a session and what is on its way to them. The first frame after a pause leaves at once; in a burst frames
 * are gathered for up to 10 ms (performance: each message that crosses costs more than the frames in it).
 */
export class FrameHub {
  readonly #ctx: DurableObjectState;
  #waiting: { runId: string; text: string }[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /** Accepts a socket that has everything up to now (the caller has sent the replay). */
  accept(socket: WebSocket, run: string | undefined): void {
    this.#ctx.acceptWebSocket(socket);
    socket.serializeAttachment({ run: run ?? null } satisfies Attachment);
  }

  push(runId: string, text: string): void {
    const last = this.#waiting.at(-1);
    if (last && last.runId === runId) last.text += text;
    else this.#waiting.push({ runId, text });
    if (this.#timer !== null) return;
    this.#send();
    this.#gather(BURST_MS.first);
  }

  /** Sends what waits now: before the object may be unloaded, and before a socket joins. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#send();
  }

  /** The run has had its last frame: its streams end. */
  endRun(runId: string): void {
    this.flush();
    for (const socket of this.#ctx.getWebSockets()) {
      if (follows(socket) === runId) close(socket, SOCKET_DONE, "run ended");
    }
  }

  /** The session is gone: every stream ends. */
  endAll(): void {
    this.flush();
    for (const socket of this.#ctx.getWebSockets()) close(socket, SOCKET_GONE, "session deleted");
  }

  #gather(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#waiting.length === 0) return;
      this.#send();
      this.#gather(Math.min(2 * ms, BURST_MS.longest));
    }, ms);
  }

  #send(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const socket of this.#ctx.getWebSockets()) {
      const run = follows(socket);
      const text = waiting.reduce((all, item) => (run === null || run === item.runId ? all + item.text : all), "");
      if (text !== "") send(socket, text);
    }
  }
}

function follows(socket: WebSocket): string | null {
  const attachment = socket.deserializeAttachment() as Attachment | null;
  return attachment?.run ?? null;
}

/** A socket that broke meanwhile is no fault of the run; its client resumes from the table. */
function send(socket: WebSocket, text: string): void {
  try {
    socket.send(text);
  } catch {
    close(socket, 1011, "send failed");
  }
}

function close(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // Closed already.
  }
}
