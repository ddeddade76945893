import type { Result } from "./result.ts";

/** Error types of the API and their HTTP status (H-10). The one table; `src/http` turns a refusal into a response by it. */
export const REFUSAL_STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  rate_limit_error: 429,
  internal_error: 500,
} as const;

export type RefusalType = keyof typeof REFUSAL_STATUS;

/** A request that cannot be done. `message` names the field that is wrong and never holds a secret. */
export type Refusal = { readonly type: RefusalType; readonly message: string };

/** What a port answers: the value, or why not. Plain data, so it crosses a Durable Object stub whole. */
export type Answer<T> = Result<T, Refusal>;

export function refuse(type: RefusalType, message: string): { readonly ok: false; readonly error: Refusal } {
  return { ok: false, error: { type, message } };
}
