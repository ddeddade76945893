import { type Feed, type FrameSocket, SOCKET_DONE, SOCKET_GONE } from "../contract/sessions.ts";
import { delay } from "../shared/delay.ts";
import { errorFrame, lastFrame } from "./frames.ts";
import { openSink, type SinkOptions, type SseSink } from "./sse-sink.ts";
import { type TokenWatch, tokenLost } from "./token-watch.ts";

export type GatewayOptions = SinkOptions & {
  /** What may wait for a slow client before its socket is given up for a while, UTF-16 units. */
  readonly maxWaiting?: number;
  /** Waits between tries to connect, milliseconds; the list's length bounds the tries in a row. */
  readonly backoffMs?: readonly number[];
  /** Ends the stream when the token it was opened with stops working. */
  readonly token?: TokenWatch | undefined;
};

/** A second connection to the log costs little, a growing buffer takes the isolate's 128 MB from everybody. */
const MAX_WAITING = 1024 * 1024;
/** About twelve seconds: an object that moves or is deployed anew is back in less. */
const BACKOFF_MS = [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 3_000];
/** A connection that lasted so long was a good one, also if nothing was said on it (a parked question). */
const GOOD_AFTER_MS = 10_000;

type Ending =
  | { readonly kind: "done" }
  | { readonly kind: "gone" }
  | { readonly kind: "slow" }
  | { readonly kind: "lost"; readonly heard: boolean };

/**
 * Turns a feed into a client's event stream (E, E-30). A socket that breaks is opened again after the last id that was
 * passed on, so the client sees every frame once and notices nothing; when that fails for good, the stream ends with an
 * `error` frame of category `interrupted`. A client that leaves, or whose token is revoked, closes the socket with 1000; the
 * run goes on.
 */
export function streamFeed(feed: Feed, options: GatewayOptions): ReadableStream<Uint8Array> {
  const sink = openSink(options);
  void follow(feed, sink, options);
  return sink.readable;
}

async function follow(feed: Feed, sink: SseSink, options: GatewayOptions): Promise<void> {
  const backoff = options.backoffMs ?? BACKOFF_MS;
  const position = { id: feed.cursor, terminal: false };
  /** Aborted when nothing more is to be passed on. */
  const stop = new AbortController();
  sink.gone.addEventListener("abort", () => stop.abort());
  if (sink.gone.aborted) stop.abort();
  /** Ends the stream; a run whose own terminal event was passed on gets no second one (E-12). */
  const end = (frame: string) => {
    stop.abort();
    if (!position.terminal) sink.put(frame);
    return sink.finish();
  };
  void tokenLost(options.token, stop.signal).then((frame) => {
    if (frame === undefined) return;
    // Between two runs of a session the last event was terminal for its run, but not for this stream.
    if (feed.runId === undefined) position.terminal = false;
    void end(frame);
  });
  let failures = 0;
  while (!stop.signal.aborted) {
    const start = Date.now();
    const ending = await once(feed, sink, stop.signal, position, options.maxWaiting ?? MAX_WAITING);
    if (stop.signal.aborted) return;
    if (typeof ending === "string") return await end(errorFrame(ending, "interrupted", false));
    switch (ending.kind) {
      case "done":
        return await end(errorFrame("the stream ended without a result", "interrupted", true));
      case "gone":
        return await end(errorFrame("the session was deleted", "interrupted", false));
      case "slow":
        await sink.drained();
        break;
      case "lost": {
        if (ending.heard || Date.now() - start >= GOOD_AFTER_MS) failures = 0;
        const wait = backoff[failures++];
        if (wait === undefined)
          return await end(errorFrame("the connection to the session was lost", "interrupted", true));
        // The first try after a good connection is made at once.
        if (failures > 1 || !ending.heard) await delay(wait, stop.signal);
        break;
      }
      default:
        ending satisfies never;
    }
  }
}

/** One connection, from opening to its end. A text is a refusal that no further try would change. */
async function once(
  feed: Feed,
  sink: SseSink,
  stop: AbortSignal,
  position: { id: number; terminal: boolean },
  maxWaiting: number,
): Promise<Ending | string> {
  let opened: Awaited<ReturnType<Feed["connect"]>>;
  try {
    opened = await feed.connect(position.id);
  } catch {
    return { kind: "lost", heard: false };
  }
  if (opened.ok) return await pump(opened.value, sink, stop, position, maxWaiting);
  switch (opened.error.type) {
    case "not_found_error":
      return { kind: "gone" };
    case "internal_error":
    case "rate_limit_error":
      return { kind: "lost", heard: false };
    default:
      return opened.error.message;
  }
}

function pump(
  socket: FrameSocket,
  sink: SseSink,
  stop: AbortSignal,
  position: { id: number; terminal: boolean },
  maxWaiting: number,
): Promise<Ending> {
  return new Promise((resolve) => {
    let heard = false;
    let over = false;
    const finish = (ending: Ending, reason?: string) => {
      if (over) return;
      over = true;
      stop.removeEventListener("abort", left);
      close(socket, reason);
      resolve(ending);
    };
    const left = () => finish({ kind: "gone" }, "client gone");
    socket.addEventListener("message", (event) => {
      // Frames that come after this end was given up are read again from the log, by their id.
      if (over || typeof event.data !== "string") return;
      const last = lastFrame(event.data);
      if (last) {
        position.id = last.id;
        position.terminal = last.terminal;
      }
      heard = true;
      sink.put(event.data);
      if (sink.waiting() > maxWaiting) finish({ kind: "slow" }, "slow client");
    });
    socket.addEventListener("close", (event) => {
      if (event.code === SOCKET_DONE) finish({ kind: "done" });
      else if (event.code === SOCKET_GONE) finish({ kind: "gone" });
      else finish({ kind: "lost", heard });
    });
    socket.addEventListener("error", () => finish({ kind: "lost", heard }));
    stop.addEventListener("abort", left);
    // workerd delivers nothing before `accept`; other platforms have no such method.
    (socket as { accept?: () => void }).accept?.();
    if (stop.aborted) left();
  });
}

function close(socket: FrameSocket, reason = "done"): void {
  try {
    socket.close(1000, reason);
  } catch {
    // It is closed already.
  }
}
