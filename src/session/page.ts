import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { Page } from "../contract/sessions.ts";
import { fromCursor, toCursor } from "../shared/cursor.ts";

/**
 * One page of a list. The cursor names the last item of the page before by id, and carries the list's incarnation: a
 * cursor of a deleted and re-made session is refused.
 */
export function pageOf<T extends { readonly id: string }>(
  items: readonly T[],
  limit: number,
  cursor: string | undefined,
  incarnation: string,
): Answer<Page<T>> {
  let start = 0;
  if (cursor !== undefined) {
    const id = readCursor(cursor, incarnation);
    const at = id === undefined ? -1 : items.findIndex((item) => item.id === id);
    if (at < 0) return refuse("invalid_request_error", "cursor is not one of this list");
    start = at + 1;
  }
  const data = items.slice(start, start + limit);
  const last = data.at(-1);
  const more = start + data.length < items.length;
  return ok({ data, next_cursor: more && last ? toCursor(`${incarnation}:${last.id}`) : null });
}

function readCursor(cursor: string, incarnation: string): string | undefined {
  const [of, id] = fromCursor(cursor)?.split(":") ?? [];
  return of === incarnation ? id : undefined;
}
