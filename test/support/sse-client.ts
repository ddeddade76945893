import { createParser } from "eventsource-parser";

export type SseEvent = { readonly id: number; readonly type: string; readonly data: Record<string, unknown> };

/** What Node's and workerd's readers have in common. */
type ByteReader = {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
};

/** Reads an SSE body event by event, as a client does; keeps everything it saw. Works in Node and in workerd. */
export class SseReader {
  readonly seen: SseEvent[] = [];
  comments = 0;
  readonly #reader: ByteReader;
  readonly #decoder = new TextDecoder();
  readonly #waiting: SseEvent[] = [];
  readonly #parser = createParser({
    onEvent: ({ id, event, data }) => {
      this.#waiting.push({
        id: Number(id),
        type: event ?? "message",
        data: JSON.parse(data) as Record<string, unknown>,
      });
    },
    onComment: () => {
      this.comments++;
    },
  });

  constructor(response: Response) {
    if (!response.ok || !response.body) throw new Error(`no stream: status ${response.status}`);
    this.#reader = response.body.getReader() as ByteReader;
  }

  /** The next event; undefined at the end of the stream. */
  async next(): Promise<SseEvent | undefined> {
    while (this.#waiting.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#parser.feed(this.#decoder.decode(value, { stream: true }));
    }
    const event = this.#waiting.shift();
    if (event) this.seen.push(event);
    return event;
  }

  /** Reads on until an event of this type; fails when the stream ends before. */
  async until(type: string): Promise<SseEvent> {
    while (true) {
      const event = await this.next();
      if (!event) throw new Error(`the stream ended without ${type}; it had ${this.types().join(" ")}`);
      if (event.type === type) return event;
    }
  }

  async toEnd(): Promise<readonly SseEvent[]> {
    while (await this.next());
    return this.seen;
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  /** Types in order, neighbouring deltas of one kind as one. */
  types(): string[] {
    return this.seen
      .map((event) => event.type)
      .filter((type, i, all) => !type.endsWith("_delta") || all[i - 1] !== type);
  }
}
