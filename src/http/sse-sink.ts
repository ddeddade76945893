/** How one client's stream is written. */
export type SinkOptions = {
  /** The request's signal; aborted when the client is known to have left. */
  readonly signal: AbortSignal;
  readonly keepaliveMs: number;
};

/** The writing end of one client's event stream. */
export type SseSink = {
  readonly readable: ReadableStream<Uint8Array>;
  /** Writes ready-made SSE text; never throws and never waits. What a slow client leaves behind is counted in `waiting`. */
  put(text: string): void;
  /** UTF-16 units that the client has not taken yet; 0 after it left. */
  waiting(): number;
  /** Resolves when everything was taken, or the client left. */
  drained(): Promise<void>;
  /** Writes what waits and ends the stream. */
  finish(): Promise<void>;
  /** Aborted when the client has left. */
  readonly gone: AbortSignal;
};

const KEEPALIVE = ": keepalive\n\n";

type Pipe = { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<Uint8Array> };

/** workerd pumps an identity stream to the socket natively; elsewhere a transform stream without queue does the same. */
function openPipe(): Pipe {
  const { IdentityTransformStream: Identity } = globalThis as { IdentityTransformStream?: new () => Pipe };
  return Identity ? new Identity() : new TransformStream<Uint8Array, Uint8Array>();
}

/**
 * Opens a stream for one client. One write is under way at a time; what comes meanwhile is joined into the next, so a
 * burst costs few writes and each text is encoded once. After `keepaliveMs` of silence a comment is written: it keeps
 * proxies patient and is the only way to notice that a silent client has left.
 */
export function openSink(options: SinkOptions): SseSink {
  const encoder = new TextEncoder();
  const { readable, writable } = openPipe();
  const writer = writable.getWriter();
  const gone = new AbortController();
  let backlog = "";
  let underWay = 0;
  let writing = false;
  let finishing = false;
  let lastWrite = Date.now();
  let wake: (() => void)[] = [];

  const settle = () => {
    const waiters = wake;
    wake = [];
    for (const waiter of waiters) waiter();
  };
  const leave = () => {
    if (gone.signal.aborted) return;
    clearTimeout(timer);
    options.signal.removeEventListener("abort", leave);
    backlog = "";
    underWay = 0;
    writing = false;
    // The other half errors too, so that a response nobody reads is let go.
    writer.abort(new Error("the client is gone")).catch(() => {});
    gone.abort();
    settle();
  };
  const flush = () => {
    const text = backlog;
    backlog = "";
    underWay = text.length;
    writing = true;
    lastWrite = Date.now();
    writer.write(encoder.encode(text)).then(written, leave);
  };
  const written = () => {
    if (gone.signal.aborted) return;
    writing = false;
    underWay = 0;
    if (backlog !== "") flush();
    else settle();
  };
  const put = (text: string) => {
    if (gone.signal.aborted || finishing || text === "") return;
    backlog += text;
    if (!writing) flush();
  };
  // One timer, set anew only when it fires: a write costs no timer of its own.
  const beat = () => {
    const silence = Date.now() - lastWrite;
    // A write under way finds out by itself whether the client is there.
    if (silence >= options.keepaliveMs && !writing) put(KEEPALIVE);
    const rest = options.keepaliveMs - (Date.now() - lastWrite);
    timer = setTimeout(beat, rest > 0 ? rest : options.keepaliveMs);
  };
  let timer = setTimeout(beat, options.keepaliveMs);

  const drained = () =>
    gone.signal.aborted || !writing ? Promise.resolve() : new Promise<void>((resolve) => wake.push(resolve));

  // Also tells of a reader that cancelled; resolves when the stream was closed by `finish`.
  writer.closed.catch(leave);
  options.signal.addEventListener("abort", leave);
  if (options.signal.aborted) leave();

  return {
    readable,
    put,
    drained,
    waiting: () => backlog.length + underWay,
    async finish() {
      if (finishing || gone.signal.aborted) return;
      finishing = true;
      clearTimeout(timer);
      await drained();
      if (gone.signal.aborted) return;
      await writer.close().catch(() => {});
      options.signal.removeEventListener("abort", leave);
    },
    gone: gone.signal,
  };
}

/** The response around a sink's readable half; proxies must neither hold it back nor transform it. */
export function streamResponse(readable: ReadableStream<Uint8Array>): Response {
  return new Response(readable, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}
