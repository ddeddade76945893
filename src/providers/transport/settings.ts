import type { Failure } from "../../contract/failure.ts";
import type { ModelInfo, ModelRequest } from "../../contract/model.ts";
import type { Classifier, ModelLookup } from "./wire.ts";

/** Limits of one answer, milliseconds and bytes (provider-protocols 1.1, idle guard). */
export type StreamLimits = {
  /** Until the first event with payload; long, because routers and local servers queue for minutes. */
  readonly firstEventMs: number;
  /** Between events with payload; comments and pings do not count. */
  readonly idleMs: number;
  /** The whole call, tries and waits included. */
  readonly totalMs: number;
  /** Body bytes of one answer: a stranger must not fill the isolate's 128 MB. */
  readonly maxBytes: number;
};

export type RetryPolicy = {
  /** Tries of one call, the first one included. */
  readonly tries: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** Longest wait a provider's Retry-After may ask for. */
  readonly retryAfterMaxMs: number;
  /** 0 ≤ x < 1. */
  random(): number;
};

export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `fn` once after `ms`; the answer cancels it. */
  timer(ms: number, fn: () => void): () => void;
};

/** A smaller request that may fit, or undefined when there is none; it is sent once. */
export type OverflowHandler = (request: ModelRequest, failure: Failure) => ModelRequest | undefined;

/** What a Workers AI binding can do, as far as it is used here. */
export type AiBinding = {
  run(
    model: string,
    inputs: Record<string, unknown>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<unknown>;
};

/** Everything a provider is made of; nothing is read from the environment. */
export type ProviderSettings = {
  readonly apiKey?: string | undefined;
  /** Gemini on Vertex. */
  readonly bearerToken?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<StreamLimits> | undefined;
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Capabilities and prices by model id; without it every capability is assumed. */
  readonly lookup?: ModelLookup | undefined;
  /** What `models()` answers. */
  readonly models?: readonly ModelInfo[] | undefined;
  /** Extra request headers: beta names, `HTTP-Referer`, `X-Title`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Reads failures in place of the provider's own classifier. */
  readonly classifier?: Classifier | undefined;
  /** What becomes of a request that is too large; by default `max_tokens` is lowered to what fits. */
  readonly overflowHandler?: OverflowHandler | undefined;
  /** Path after the base URL, for gateways with their own; not Gemini's, whose path names the model. */
  readonly messagePath?: string | undefined;
  /** `anthropic-version`, on the Messages wire. */
  readonly apiVersion?: string | undefined;
  /** How the key is sent: as a key header (`x-api-key`, `api-key`) or as a bearer token; each wire has its default. */
  readonly auth?: "key" | "bearer" | undefined;
  /** The `AI` binding, for `workers-ai`. */
  readonly binding?: AiBinding | undefined;
  /** Makes ids for calls the provider gave none; unique over a session. */
  readonly newCallId?: (() => string) | undefined;
};

export const DEFAULT_LIMITS: StreamLimits = {
  firstEventMs: 300_000,
  idleMs: 60_000,
  totalMs: 1_800_000,
  maxBytes: 64 * 1024 * 1024,
};

export const DEFAULT_RETRY: RetryPolicy = {
  tries: 4,
  baseMs: 500,
  maxMs: 16_000,
  retryAfterMaxMs: 60_000,
  random: Math.random,
};

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  timer: (ms, fn) => {
    const id = setTimeout(fn, ms);
    return () => clearTimeout(id);
  },
};

/** A call id for providers that give none; random, because it must not meet an id of an earlier turn. */
export function randomCallId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}

export type Transport = {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  readonly retry: RetryPolicy;
  readonly overflowHandler?: OverflowHandler | undefined;
};

export function createTransport(settings: ProviderSettings): Transport {
  return {
    // Wrapped, because a bare `fetch` called as a method of another object is refused by some runtimes.
    fetch: settings.fetch ?? ((input, init) => fetch(input, init)),
    clock: settings.clock ?? SYSTEM_CLOCK,
    limits: { ...DEFAULT_LIMITS, ...defined(settings.limits) },
    retry: { ...DEFAULT_RETRY, ...defined(settings.retry) },
    overflowHandler: settings.overflowHandler,
  };
}

function defined<T extends object>(partial: T | undefined): Partial<T> {
  // Own settings that are undefined must not hide a default.
  return Object.fromEntries(Object.entries(partial ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
