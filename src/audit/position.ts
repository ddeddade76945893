import { fromCursor, toCursor } from "../shared/cursor.ts";

/** Where a page of the audit ends: the order is by time, then by place in the chain, then by id. */
export type AuditPosition = { readonly timestamp: string; readonly seq: number; readonly id: string };

/** A cursor belongs to its tenant: another one's is refused, though it could show nothing of theirs anyway. */
export function positionCursor(tenant: string, { timestamp, seq, id }: AuditPosition): string {
  return toCursor(`audit ${tenant} ${timestamp} ${seq} ${id}`);
}

export function readPosition(tenant: string, cursor: string): AuditPosition | undefined {
  const [kind, owner, timestamp = "", seq = "", id = ""] = fromCursor(cursor)?.split(" ") ?? [];
  if (kind !== "audit" || owner !== tenant || Number.isNaN(Date.parse(timestamp)) || !/^\d{1,15}$/.test(seq)) {
    return undefined;
  }
  return { timestamp, seq: Number(seq), id };
}
