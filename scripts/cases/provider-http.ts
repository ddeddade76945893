import { setTimeout as pause } from "node:timers/promises";
import type { Sent } from "./provider-assertions.ts";

type Chunk = string | { readonly base64: string };
export type Http = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly Chunk[];
  readonly resplit?: number;
  readonly end?: "close" | "abort" | "stall";
  readonly tick?: { readonly chunk: Chunk; readonly every_ms: number };
  readonly throw?: { readonly name: string; readonly message: string; readonly code?: string };
};

/** The same answer cut in other places; only bodies that end in order can be cut freely. */
export function bodyVariants(http: Http): readonly (readonly [string, Http])[] {
  if (http.throw || (http.end ?? "close") !== "close" || (http.chunks ?? []).length === 0) return [["as given", http]];
  const whole = concat((http.chunks ?? []).map(bytesOf));
  return [
    ["as given", http],
    ["one chunk", { ...http, chunks: [encode(whole)], resplit: 0 }],
    ["1-byte chunks", { ...http, resplit: 1 }],
  ];
}

/** A `fetch` that notes what is sent and answers with the case's response. */
export function responder(http: Http, sent: Sent[]): typeof fetch {
  return (async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    sent.push({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: JSON.parse(await request.text()),
    });
    if (http.throw) {
      const { name, message, code } = http.throw;
      throw Object.assign(
        name === "TypeError" ? new TypeError(message) : new Error(message),
        { name },
        code ? { cause: Object.assign(new Error(message), { code }) } : {},
      );
    }
    return new Response(bodyOf(http, init?.signal ?? undefined), {
      status: http.status ?? 200,
      headers: http.headers ?? {},
    });
  }) as typeof fetch;
}

function bodyOf(http: Http, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const pieces = cut((http.chunks ?? []).map(bytesOf), http.resplit ?? 0);
  let at = 0;
  let cancelled = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = pieces[at++];
        if (piece) return controller.enqueue(piece);
        if (http.end === "abort")
          return controller.error(
            Object.assign(new TypeError("terminated"), { cause: new Error("other side closed") }),
          );
        if (http.end !== "stall") return controller.close();
        if (!http.tick) return new Promise<void>(() => {});
        await pause(http.tick.every_ms);
        if (!cancelled && !signal?.aborted) controller.enqueue(bytesOf(http.tick.chunk));
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
}

function bytesOf(chunk: Chunk): Uint8Array {
  return typeof chunk === "string"
    ? new TextEncoder().encode(chunk)
    : new Uint8Array(Buffer.from(chunk.base64, "base64"));
}

function encode(bytes: Uint8Array): Chunk {
  return { base64: Buffer.from(bytes).toString("base64") };
}

function concat(list: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(list));
}

function cut(list: readonly Uint8Array[], size: number): readonly Uint8Array[] {
  if (size <= 0) return list.filter((piece) => piece.byteLength > 0);
  const whole = concat(list);
  return Array.from({ length: Math.ceil(whole.byteLength / size) }, (_, n) => whole.subarray(n * size, (n + 1) * size));
}
