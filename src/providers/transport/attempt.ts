import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelRequest, Usage } from "../../contract/model.ts";
import { createSseDecoder, type SseMessage } from "../../shared/sse.ts";
import { GuardExpired, StreamGuard } from "./guard.ts";
import type { Transport } from "./settings.ts";
import { BodySniffer } from "./sniff.ts";
import type { StreamDecoder, Wire } from "./wire.ts";

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

type Reading = {
  readonly reader: Body;
  readonly guard: StreamGuard;
  readonly wire: Wire;
  readonly decoder: StreamDecoder;
  readonly transport: Transport;
  readonly response: Response;
  readonly signal: AbortSignal;
};

async function* readEvents(reading: Reading): AsyncGenerator<readonly ModelEvent[], Outcome> {
  const { reader, guard, wire, decoder, transport } = reading;
  const sse = createSseDecoder();
  const sniffer = new BodySniffer();
  let shown = false;
  let bytes = 0;
  const broken = (fault: Failure): Outcome => {
    const rest: ModelEvent[] = [];
    // A stop reason makes the answer whole, whatever happens to the connection afterwards.
    if (decoder.finished()) return { failure: decoder.end(rest), shown, rest, usage: decoder.usage() };
    decoder.abandon(rest);
    return { failure: fault, shown, rest, usage: decoder.usage() };
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
    if (bytes > transport.limits.maxBytes || sse.overflowed) {
      return broken({
        ...wire.classifier.fail("malformed_response", "the answer is larger than allowed"),
        retryable: false,
      });
    }
    const messages = piece
      ? sniffer.take(piece)
        ? sse.push(piece)
        : []
      : sniffer.collected() === undefined
        ? sse.end()
        : [];
    let verdict = feed(messages, decoder, guard, batch);
    if (!piece && sniffer.collected() !== undefined) verdict = whole(sniffer.collected() ?? "", reading, batch);
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

function feed(
  messages: readonly SseMessage[],
  decoder: StreamDecoder,
  guard: StreamGuard,
  out: ModelEvent[],
): "open" | "done" | Failure {
  let alive = false;
  let finished = false;
  for (const message of messages) {
    const verdict = decoder.push(message, out);
    if (verdict === "done" || typeof verdict === "object") return verdict;
    if (verdict === "payload") alive = true;
    else if (verdict === "finished") finished = true;
  }
  if (finished) guard.tail();
  else if (alive) guard.alive();
  return "open";
}

/** A 200 that is no stream: an error body, a whole answer, or a list of either. */
function whole(
  text: string,
  { wire, decoder, guard, response }: Reading,
  out: ModelEvent[],
): "open" | "done" | Failure {
  if (text.trimStart().startsWith("<")) return wire.classifier.http(response.status, response.headers, text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wire.classifier.fail("malformed_response", "the answer is no valid JSON");
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return feed(
    items.map((item) => ({ data: JSON.stringify(item) })),
    decoder,
    guard,
    out,
  );
}

async function readText(reader: Body, guard: StreamGuard, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (reader && bytes < maxBytes) {
    // An error whose body breaks off is still that error.
    const { value } = await guard.race(reader.read()).catch((error: unknown) => {
      if (error instanceof GuardExpired || bytes > 0) return { value: undefined };
      throw error;
    });
    if (!value) break;
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function readFailure(wire: Wire, error: unknown): Failure {
  return error instanceof GuardExpired ? wire.classifier.fail("timeout", error.message) : wire.classifier.thrown(error);
}
