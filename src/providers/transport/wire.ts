import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelInfo, ModelRequest, Usage } from "../../contract/model.ts";
import type { SseMessage } from "../../shared/sse.ts";

/**
 * What one frame meant: `payload` keeps the stream alive, `skip` does not (pings, empty deltas), `finished` = the stop reason
 * is known and only trailing figures may follow, `done` = stop reading, a failure = the provider reported an error in band.
 */
export type FrameVerdict = "payload" | "skip" | "finished" | "done" | Failure;

/** Turns one answer's frames into events; holds the half-built blocks of that answer. */
export type StreamDecoder = {
  push(message: SseMessage, out: ModelEvent[]): FrameVerdict;
  /** No more frames. Pushes what is left and `finished`, or gives back why the answer is not whole. */
  end(out: ModelEvent[]): Failure | undefined;
  /** The stream broke: closes shown text, drops unfinished calls. */
  abandon(out: ModelEvent[]): void;
  /** A stop reason was seen. */
  finished(): boolean;
  usage(): Usage | null;
};

/** Reads failures of one provider out of what it answered. Never throws; messages are safe to show. */
export type Classifier = {
  http(status: number, headers: Headers, body: string): Failure;
  /** An error object found inside a stream of status 200. */
  inBand(value: unknown): Failure;
  /** `fetch` or the reading of the body rejected. */
  thrown(error: unknown): Failure;
  fail(category: Failure["category"], message: string, hint?: string): Failure;
};

export type HttpRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** A provider's wire: pure translation, no I/O. */
export type Wire = {
  readonly name: string;
  request(request: ModelRequest): HttpRequest;
  decoder(request: ModelRequest): StreamDecoder;
  readonly classifier: Classifier;
};

/** Looks up what a model can do; unknown models get defaults marked `estimated`. */
export type ModelLookup = (model: string) => ModelInfo | undefined;
