import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent } from "../../contract/model.ts";
import { createSseDecoder, isJson, type SseMessage } from "../../shared/sse.ts";
import type { StreamGuard } from "./guard.ts";
import { BodySniffer } from "./sniff.ts";
import type { StreamDecoder, Wire } from "./wire.ts";

/** What the frames of one answer go to. */
export type Frames = {
  readonly guard: StreamGuard;
  readonly wire: Wire;
  readonly decoder: StreamDecoder;
  readonly response: Response;
};

type Verdict = "open" | "done" | Failure;

/** Reads the body of one answer, a stream of events or a document, into its decoder (provider-protocols 1.1). */
export class BodyReader {
  readonly #frames: Frames;
  readonly #sse = createSseDecoder();
  readonly #sniffer = new BodySniffer();

  constructor(frames: Frames) {
    this.#frames = frames;
  }

  /** A line or message outgrew the cap. */
  get overflowed(): boolean {
    return this.#sse.overflowed;
  }

  push(piece: Uint8Array, out: ModelEvent[]): Verdict {
    return this.#sniffer.take(piece) ? this.#feed(this.#sse.push(piece), out) : "open";
  }

  /** No more bytes come: an unterminated last message, or a document. If the body broke off (not `ended`), only a whole one counts. */
  rest(out: ModelEvent[], ended: boolean): Verdict {
    const text = this.#sniffer.collected();
    if (text === undefined) return this.#feed(this.#sse.end(), out);
    return ended || isJson(text) ? this.#document(text, out) : "open";
  }

  #feed(messages: readonly SseMessage[], out: ModelEvent[]): Verdict {
    const { decoder, guard } = this.#frames;
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
  #document(text: string, out: ModelEvent[]): Verdict {
    const { wire, decoder, response } = this.#frames;
    if (text.trimStart().startsWith("<")) return wire.classifier.http(response.status, response.headers, text);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return wire.classifier.fail("malformed_response", "the answer is no valid JSON");
    }
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    const verdict = this.#feed(
      items.map((item) => ({ data: JSON.stringify(item) })),
      out,
    );
    if (verdict === "done" || decoder.finished()) return verdict;
    // An error in a shape of its own, or one whose wait stands in a header.
    const read = wire.classifier.http(response.status, response.headers, text);
    if (typeof verdict === "object") return { ...verdict, retryAfterMs: verdict.retryAfterMs ?? read.retryAfterMs };
    return read.category === "malformed_response" ? verdict : read;
  }
}
