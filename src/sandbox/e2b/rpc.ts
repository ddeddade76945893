import { err, ok, type Result } from "../../contract/result.ts";
import { END_OF_STREAM, encodeEnvelope, pieces, readEnvelopes } from "./envelope.ts";
import { EndOfStream, WireError } from "./wire.ts";

/** Just what is used of `fetch`. */
export type SandboxFetch = (url: string, init: RequestInit) => Promise<Response>;

/** One running sandbox: where its envd listens and what it wants to see in a header. */
export type Live = { readonly id: string; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export type Failure = {
  /** Connect's word (`not_found`, `internal` …), or `http_502`, or `unreachable`. */
  readonly code: string;
  readonly message: string;
  /** The sandbox is not there any more (ended, paused): the proxy before envd answers 502 then. */
  readonly gone: boolean;
};

/** A directory of 50,000 entries is about 16 MB of JSON. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Seconds between keepalive events of a silent stream, as the vendor's own client asks. */
const KEEPALIVE_SECONDS = "50";

/** One unary call (`filesystem.Filesystem/Stat`): JSON in, JSON out. Never throws. */
export async function call(
  fetch: SandboxFetch,
  live: Live,
  method: string,
  message: unknown,
  signal: AbortSignal,
): Promise<Result<unknown, Failure>> {
  return attempt(async () => {
    const headers = { ...live.headers, "content-type": "application/json", "connect-protocol-version": "1" };
    const init = { method: "POST", headers, body: JSON.stringify(message), signal, redirect: "manual" } as const;
    const response = await fetch(`${live.url}/${method}`, init);
    if (!response.ok) return err(await refusal(response));
    return ok(JSON.parse(new TextDecoder().decode(await readWhole(response, MAX_ANSWER_BYTES))));
  });
}

/** A server stream (`process.Process/Start`): its messages in order; the last one may be a failure. Never throws. */
export async function* stream(
  fetch: SandboxFetch,
  live: Live,
  method: string,
  message: unknown,
  timeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<Result<unknown, Failure>> {
  const opened = await attempt(async () => {
    const headers = {
      ...live.headers,
      "content-type": "application/connect+json",
      "connect-protocol-version": "1",
      "connect-timeout-ms": String(timeoutMs),
      "keepalive-ping-interval": KEEPALIVE_SECONDS,
    };
    const body = encodeEnvelope(message);
    const response = await fetch(`${live.url}/${method}`, {
      method: "POST",
      headers,
      body,
      signal,
      redirect: "manual",
    });
    return response.ok && response.body ? ok(response.body) : err(await refusal(response));
  });
  if (!opened.ok) {
    yield opened;
    return;
  }
  try {
    for await (const { flags, data } of readEnvelopes(opened.value)) {
      const parsed: unknown = JSON.parse(new TextDecoder().decode(data));
      if ((flags & END_OF_STREAM) === 0) {
        yield ok(parsed);
        continue;
      }
      const error = EndOfStream.safeParse(parsed).data?.error;
      if (error) yield err({ code: String(error.code ?? "unknown"), message: error.message, gone: false });
      return;
    }
    yield err({ code: "unreachable", message: "the stream ended early", gone: false });
  } catch (error) {
    yield err({ code: "unreachable", message: wordsOf(error), gone: false });
  }
}

/** What an answer that is no success says; its text is cut, for it may be a proxy's page. */
export async function refusal(response: Response): Promise<Failure> {
  const text = new TextDecoder().decode(await readWhole(response, 4_096).catch(() => new Uint8Array(0)));
  const said = WireError.safeParse(parse(text)).data;
  const code = typeof said?.code === "string" ? said.code : `http_${response.status}`;
  return { code, message: said?.message || `HTTP ${response.status}`, gone: response.status === 502 };
}

/** The whole body; throws a `RangeError` when it is longer than `max`. */
export async function readWhole(response: Response, max: number): Promise<Uint8Array> {
  if (!response.body) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces(response.body)) {
    size += piece.length;
    if (size > max) throw new RangeError(`longer than ${max} bytes`);
    parts.push(piece);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Runs a request; whatever it throws (no route, refused, cut off, no JSON) is a failure like any other. */
export async function attempt<T>(work: () => Promise<Result<T, Failure>>): Promise<Result<T, Failure>> {
  try {
    return await work();
  } catch (error) {
    return err({
      code: error instanceof RangeError ? "too_large" : "unreachable",
      message: wordsOf(error),
      gone: false,
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
