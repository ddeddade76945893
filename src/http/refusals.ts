import { REFUSAL_STATUS, type Refusal } from "../contract/refusal.ts";

/** Status other than the type's own, or further headers: 405 with `Allow`, 429 with `Retry-After`. */
export type RefusalExtras = { readonly status?: number; readonly headers?: Readonly<Record<string, string>> };

/** The one place where a refusal becomes a response (H-10). */
export function refusalResponse(refusal: Refusal, extras: RefusalExtras = {}): Response {
  return jsonResponse(
    { error: { type: refusal.type, message: refusal.message } },
    extras.status ?? REFUSAL_STATUS[refusal.type],
    extras.headers,
  );
}

/** A JSON answer (H-9). */
export function jsonResponse(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> | undefined = undefined,
): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}
