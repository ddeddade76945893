import { errorFrame, isTerminalText } from "./frames.ts";
import { openSink, type SinkOptions } from "./sse-sink.ts";

/** Enough to keep a fast client busy, little enough that the run is slowed by its reader. */
const MAX_WAITING = 256 * 1024;

export type RunStreamOptions = Omit<SinkOptions, "signal"> & {
  /** Aborted when the client leaves, which cancels the run; its signal is the one the runner was given. */
  readonly controller: AbortController;
  /** Told of a run that threw: a bug, since a run reports its failures as its last event. */
  readonly onBug: (error: unknown) => void;
};

/**
 * Writes a stateless run to its client (H-2). The run has nobody but this client: a write that fails aborts it. It ends
 * with the run's own terminal event, or with an `error` frame when it threw or forgot one (E-12).
 */
export function streamRun(source: AsyncIterable<string>, options: RunStreamOptions): ReadableStream<Uint8Array> {
  const { controller } = options;
  const sink = openSink({ signal: controller.signal, keepaliveMs: options.keepaliveMs });
  sink.gone.addEventListener("abort", () => controller.abort());
  void (async () => {
    let last = "";
    try {
      for await (const text of source) {
        if (sink.gone.aborted) return;
        last = text;
        sink.put(text);
        if (sink.waiting() > MAX_WAITING) await sink.drained();
      }
      if (!isTerminalText(last)) sink.put(errorFrame("the run ended without a result", "internal", false));
    } catch (error) {
      if (sink.gone.aborted) return;
      options.onBug(error);
      if (!isTerminalText(last)) sink.put(errorFrame("internal error", "internal", false));
    }
    await sink.finish();
  })();
  return sink.readable;
}
