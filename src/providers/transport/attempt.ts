import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelRequest, Usage } from "../../contract/model.ts";
import { BodyReader, type Frames } from "./body.ts";
import { GuardExpired, StreamGuard } from "./guard.ts";
import type { Transport } from "./settings.ts";
import type { Wire } from "./wire.ts";

/** How a try ended. `rest` closes what was open; it is shown before a failure that is not retried. */
export type Outcome = {
  readonly failure: Failure | undefined;
  readonly shown: boolean;
  readonly rest: readonly ModelEvent[];
  readonly usage: Usage | null;
};

/** Bytes of an error body that are read; enough for any JSON error, too little to hurt. */
const ERROR_BODY_BYTES = 64 * 1024;

/** One try: request, response, frames. Yields one batch of events per piece of body that had any. */
export async function* runAttempt(
  transport: Transport,
  wire: Wire,
  request: ModelRequest,
  endAt: number,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[], Outcome> {
  const guard = new StreamGuard(transport.clock, transport.limits, endAt);
  const upstream = new AbortController();
  const onAbort = () => guard.stop(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let reader: Body;
  let clean = false;
  try {
    const opened = await open(transport, wire, request, guard, upstream.signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return { failure: readFailure(wire, error), response: undefined, reader: undefined };
    });
    reader = opened.reader;
    signal.throwIfAborted();
    if (opened.failure) return { failure: opened.failure, shown: false, rest: [], usage: null };
    const outcome = yield* readEvents({
      reader,
      guard,
      wire,
      decoder: wire.decoder(request),
      transport,
      response: opened.response,
      signal,
    });
    clean = true;
    return outcome;
  } finally {
    guard.close();
    signal.removeEventListener("abort", onAbort);
    // Frees the socket on every way out; what the server still sends is of no interest.
    reader?.cancel().catch(() => {});
    if (!clean) upstream.abort();
  }
}

type Body = ReadableStreamDefaultReader<Uint8Array> | undefined;
type Opened =
  | { readonly failure: undefined; readonly response: Response; readonly reader: Body }
  | { readonly failure: Failure; readonly response: undefined; readonly reader: Body };

/** Sends the request; an answer that is no stream of events by its status or type is read as an error. */
async function open(
  transport: Transport,
  wire: Wire,
  request: ModelRequest,
  guard: StreamGuard,
  signal: AbortSignal,
): Promise<Opened> {
  const { url, headers, body } = wire.request(request);
  const response = await guard.race(transport.fetch(url, { method: "POST", headers, body, signal }));
  const reader = response.body?.getReader() as Body;
  if (response.ok && !(response.headers.get("content-type") ?? "").includes("text/html"))
    return { failure: undefined, response, reader };
  const text = await readText(reader, guard, ERROR_BODY_BYTES);
  return { failure: wire.classifier.http(response.status, response.headers, text), response: undefined, reader };
}

type Reading = Frames & { readonly reader: Body; readonly transport: Transport; readonly signal: AbortSignal };

async function* readEvents(reading: Reading): AsyncGenerator<readonly ModelEvent[], Outcome> {
  const { reader, guard, wire, decoder, transport } = reading;
  const body = new BodyReader(reading);
  let shown = false;
  let bytes = 0;
  /** The connection broke: what came whole before still counts. */
  const broken = (fault: Failure): Outcome => {
    const rest: ModelEvent[] = [];
    const verdict = body.rest(rest, false);
    // A stop reason makes the answer whole, whatever happens to the connection afterwards.
    if (typeof verdict !== "object" && decoder.finished())
      return { failure: decoder.end(rest), shown, rest, usage: decoder.usage() };
    decoder.abandon(rest);
    return { failure: typeof verdict === "object" ? verdict : fault, shown, rest, usage: decoder.usage() };
  };
  for (;;) {
    let piece: Uint8Array | undefined;
    try {
      piece = reader ? (await guard.race(reader.read())).value : undefined;
    } catch (error) {
      reading.signal.throwIfAborted();
      const outcome = broken(readFailure(wire, error));
      if (outcome.failure) return outcome;
      yield outcome.rest;
      return { ...outcome, rest: [] };
    }
    const batch: ModelEvent[] = [];
    bytes += piece?.byteLength ?? 0;
    if (bytes > transport.limits.maxBytes || body.overflowed) {
      const fault = wire.classifier.fail("malformed_response", "the answer is larger than allowed");
      return broken({ ...fault, retryable: false });
    }
    const verdict = piece ? body.push(piece, batch) : body.rest(batch, true);
    if (typeof verdict === "object") {
      const rest: ModelEvent[] = [...batch];
      decoder.abandon(rest);
      return { failure: verdict, shown, rest, usage: decoder.usage() };
    }
    if (!piece || verdict === "done") {
      const fault = decoder.end(batch);
      if (fault) return { failure: fault, shown, rest: batch, usage: decoder.usage() };
      yield batch;
      return { failure: undefined, shown: true, rest: [], usage: null };
    }
    if (batch.length > 0) {
      shown = true;
      yield batch;
    }
  }
}

async function readText(reader: Body, guard: StreamGuard, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (reader && bytes < maxBytes) {
    // An error whose body breaks off is still that error.
    const { value } = await guard.race(reader.read()).catch(() => ({ value: undefined }));
    if (!value) break;
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function readFailure(wire: Wire, error: unknown): Failure {
  return error instanceof GuardExpired ? wire.classifier.fail("timeout", error.message) : wire.classifier.thrown(error);
}
