import { errorFrame, isTerminalText } from "./frames.ts";
import { openSink, type SinkOptions } from "./sse-sink.ts";
import { type TokenWatch, tokenLost } from "./token-watch.ts";

/** Enough to keep a fast client busy, little enough that the run is slowed by its reader. */
const MAX_WAITING = 256 * 1024;

export type RunStreamOptions = Omit<SinkOptions, "signal"> & {
  /** Aborted when the client leaves or is not allowed any more, which cancels the run; its signal is the one the runner was given. */
  readonly controller: AbortController;
  /** Ends the run when the token it was asked for with stops working. */
  readonly token?: TokenWatch | undefined;
  /** Told of a run that threw: a bug, since a run reports its failures as its last event. */
  readonly onBug: (error: unknown) => void;
};

/**
 * Writes a stateless run to its client (H-2). The run has nobody but this client: a write that fails aborts it. It ends
 * with the run's own terminal event, or with an `error` frame when it threw or forgot one (E-12).
 */
export function streamRun(source: AsyncIterable<string>, options: RunStreamOptions): ReadableStream<Uint8Array> {
  const { controller } = options;
  const client = new AbortController();
  const leave = () => client.abort();
  controller.signal.addEventListener("abort", leave);
  if (controller.signal.aborted) leave();
  const sink = openSink({ signal: client.signal, keepaliveMs: options.keepaliveMs });
  /** Aborted when nothing more is to be written. */
  const stop = new AbortController();
  sink.gone.addEventListener("abort", () => {
    stop.abort();
    controller.abort();
  });
  let last = "";
  /** Ends the stream with a frame of the server's own, unless the run's own terminal event is out (E-12). */
  const end = (frame: string) => {
    stop.abort();
    if (!isTerminalText(last)) sink.put(frame);
    return sink.finish();
  };
  void tokenLost(options.token, stop.signal).then((frame) => {
    if (frame === undefined) return;
    // The run is cancelled, the client is still to read why.
    controller.signal.removeEventListener("abort", leave);
    controller.abort();
    void end(frame);
  });
  void (async () => {
    try {
      for await (const text of source) {
        if (stop.signal.aborted) return;
        last = text;
        sink.put(text);
        if (sink.waiting() > MAX_WAITING) await sink.drained();
      }
      if (stop.signal.aborted) return;
      await end(errorFrame("the run ended without a result", "internal", false));
    } catch (error) {
      if (stop.signal.aborted) return;
      options.onBug(error);
      await end(errorFrame("internal error", "internal", false));
    }
  })();
  return sink.readable;
}
