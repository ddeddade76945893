import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { AppContext } from "./deps.ts";

const PAGE_DEFAULT = 50;
const PAGE_MAX = 200;

/** `limit` and the opaque `cursor` of a paged list; the cursor's meaning is its maker's business. */
export function pageOf(c: AppContext): Answer<{ limit: number; cursor: string | undefined }> {
  const limit = c.req.query("limit");
  const cursor = c.req.query("cursor");
  if (limit !== undefined && (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MAX)) {
    return refuse("invalid_request_error", `limit must be an integer from 1 to ${PAGE_MAX}`);
  }
  if (cursor !== undefined && !/^[A-Za-z0-9_.~=-]{1,512}$/.test(cursor)) {
    return refuse("invalid_request_error", "cursor is not one that this API gave out");
  }
  return ok({ limit: limit === undefined ? PAGE_DEFAULT : Number(limit), cursor });
}
