import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { Idempotency } from "../contract/sessions.ts";
import { sha256Hex } from "../shared/digest.ts";
import type { AppContext } from "./deps.ts";

/**
 * The request's `Idempotency-Key` with a digest of its checked body (H-21). The body is digested as it was understood, so
 * spacing and unknown fields make no other request of it.
 */
export async function idempotencyOf(c: AppContext, body: unknown): Promise<Answer<Idempotency | undefined>> {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return ok(undefined);
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    return refuse("invalid_request_error", "Idempotency-Key must be 1 to 255 printable ASCII characters");
  }
  return ok({ key, bodyDigest: await sha256Hex(JSON.stringify(body)) });
}
