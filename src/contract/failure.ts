import { z } from "zod";

/** Why a model call failed, by what can be done about it (E-12, R-4). */
export const FailureCategory = z.enum([
  "auth",
  "permission",
  "billing",
  "not_found",
  "invalid_request",
  "request_too_large",
  "prompt_too_long",
  "max_tokens_overflow",
  "rate_limit",
  "overloaded",
  "server",
  "timeout",
  "network",
  "ssl",
  "proxy",
  "stream_incomplete",
  "malformed_response",
  "content_filter",
  // Failures of the run itself, not of a model call.
  "configuration",
  "interrupted",
  "internal",
]);
export type FailureCategory = z.infer<typeof FailureCategory>;

/** A failed model call or run as a value. `message` is safe to show: no key, no web page, no stack. */
export type Failure = {
  readonly category: FailureCategory;
  readonly message: string;
  /** The fault may pass by itself; whether to try again is the loop's decision. */
  readonly retryable: boolean;
  readonly status?: number | undefined;
  /** Wait the provider asked for, milliseconds; null = none given. */
  readonly retryAfterMs?: number | null | undefined;
  /** Tokens over the limit; null = the provider gave no numbers. */
  readonly tokenGap?: number | null | undefined;
  /** Limit minus input, when input alone fits (max_tokens_overflow). */
  readonly maxTokensAvailable?: number | undefined;
  /** What the operator can do about it (certificates, proxies, base URLs). */
  readonly hint?: string | undefined;
};
