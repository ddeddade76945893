import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";

/** How long is waited for the session's stream to open, and for a cancellation to leave, milliseconds. */
const PATIENCE_MS = 1_000;
/** Pauses after which a stream that is still taken is asked for again, milliseconds. */
const RETRIES_MS = [30, 100];

/**
 * A connection to a server that an earlier one has shaken hands with. Every id goes under the connection's tag, since a
 * session must never see an id twice. A stream that ends without its answer ends the connection, so that nobody waits.
 */
export class CallTransport implements Transport {
  readonly hasPerRequestStream = true;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport["onmessage"];
  readonly #inner: StreamableHTTPClientTransport;
  readonly #tag: string;
  readonly #leaving = new Set<Promise<void>>();
  readonly #answered = new Set<unknown>();

  readonly #stream: boolean;

  /** `stream`: this connection is there for the session's own stream. */
  constructor(inner: StreamableHTTPClientTransport, tag: string, stream: boolean) {
    this.#inner = inner;
    this.#tag = `${tag}-`;
    this.#stream = stream;
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion(version);

  /** Never undefined: the client takes that for a connection without a handshake behind it. */
  get sessionId(): string {
    return this.#inner.sessionId ?? "none";
  }

  async start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message) => this.#take(message);
    await this.#inner.start();
    if (!this.#stream) return;
    // A server without such a stream says so at once; one that says nothing is not waited for.
    await Promise.race([this.#openStream(), pause(PATIENCE_MS)]);
  }

  /** Another try or two: a server may not have noticed yet that the call before has let go of the stream. */
  async #openStream(): Promise<void> {
    for (const wait of [...RETRIES_MS, 0]) {
      const opened = await this.#inner.resumeStream("").then(
        () => true,
        (error: unknown) => (error as { status?: unknown } | null)?.status !== 409,
      );
      if (opened) return;
      await pause(wait);
    }
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const own = tagged(message, this.#tag);
    const { id, method } = own as Loose;
    const onRequestStreamEnd = (): void => {
      if (!this.#answered.has(id)) this.onclose?.();
    };
    const { headers, requestSignal } = options ?? {};
    const sent = this.#inner.send(own, {
      ...(headers ? { headers } : {}),
      ...(requestSignal ? { requestSignal } : {}),
      ...(method !== undefined && id !== undefined ? { onRequestStreamEnd } : {}),
    });
    if (id !== undefined) return sent;
    this.#leaving.add(sent);
    const gone = (): void => void this.#leaving.delete(sent);
    sent.then(gone, gone);
    return sent;
  }

  /** Resolves when all notifications are sent, at the latest after a second: a cancellation must leave before the end. */
  async sent(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#leaving), pause(PATIENCE_MS)]);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #take(message: JSONRPCMessage): void {
    const { id, method } = message as Loose;
    if (method === undefined) this.#answered.add(id);
    const own = untagged(message, this.#tag);
    if (own) this.onmessage?.(own);
  }
}

type Loose = { id?: unknown; method?: string; params?: Record<string, unknown> };

/** A request, and what speaks of one, with the tag before the request's number. */
function tagged(message: JSONRPCMessage, tag: string): JSONRPCMessage {
  const { id, method, params } = message as Loose;
  if (method === undefined) return message;
  if (id !== undefined)
    return { ...message, id: `${tag}${id}`, ...(params ? { params: tokens(params, tag) } : {}) } as JSONRPCMessage;
  if (method !== "notifications/cancelled") return message;
  return { ...message, params: { ...params, requestId: `${tag}${params?.requestId}` } } as JSONRPCMessage;
}

function tokens(params: Record<string, unknown>, tag: string): Record<string, unknown> {
  const meta = params._meta as Record<string, unknown> | undefined;
  if (meta?.progressToken === undefined) return params;
  return { ...params, _meta: { ...meta, progressToken: `${tag}${meta.progressToken}` } };
}

/** The message as the client numbers it; undefined: it belongs to another call. Requests of the server stay as they are. */
function untagged(message: JSONRPCMessage, tag: string): JSONRPCMessage | undefined {
  const { id, method, params } = message as Loose;
  if (method === undefined) {
    const number = numberOf(id, tag);
    return number === undefined ? undefined : ({ ...message, id: number } as JSONRPCMessage);
  }
  if (method !== "notifications/progress") return message;
  const token = numberOf(params?.progressToken, tag);
  return token === undefined
    ? undefined
    : ({ ...message, params: { ...params, progressToken: token } } as JSONRPCMessage);
}

function numberOf(id: unknown, tag: string): number | undefined {
  if (typeof id !== "string" || !id.startsWith(tag)) return undefined;
  const number = Number(id.slice(tag.length));
  return Number.isSafeInteger(number) ? number : undefined;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
