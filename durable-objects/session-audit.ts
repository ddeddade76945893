import { createAuditChain } from "../src/audit/chain.ts";
import { verifyChain } from "../src/audit/verify-chain.ts";
import type { AuditLog, AuditQuery, AuditRecord, ChainVerdict } from "../src/contract/audit.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import { ok } from "../src/contract/result.ts";
import type { Page } from "../src/contract/sessions.ts";
import { fromCursor, toCursor } from "../src/shared/cursor.ts";
import type { SessionOutbox } from "./session-outbox.ts";
import type { SessionMeta, SessionStore } from "./session-store.ts";

/** The session's own audit, where no database takes it: the newest entries that fit, one page. */
export async function pageOfAudit(
  store: SessionStore,
  outbox: SessionOutbox,
  meta: SessionMeta,
  query: AuditQuery,
): Promise<Answer<Page<AuditRecord>>> {
  const before = query.cursor === undefined ? Number.POSITIVE_INFINITY : readCursor(meta.incarnation, query.cursor);
  if (before === undefined) return refuse("invalid_request_error", "cursor is not one of this list");
  await outbox.flush();
  const fits = [...store.linkedAudit()].reverse().filter((entry) => entry.seq < before && matches(entry, query));
  const data = fits.slice(0, query.limit);
  const last = fits.length > query.limit ? data.at(-1) : undefined;
  return ok({ data, next_cursor: last ? toCursor(`audit ${meta.incarnation} ${last.seq}`) : null });
}

export async function verifyOwnAudit(
  store: SessionStore,
  outbox: SessionOutbox,
  meta: SessionMeta,
  secret: string | undefined,
): Promise<ChainVerdict> {
  await outbox.flush();
  const entries = [...store.linkedAudit()];
  const chain = await createAuditChain(secret);
  const own = (async function* () {
    yield* entries;
  })();
  return verifyChain(chain, meta.tenant, own, await outbox.head());
}

function matches(entry: AuditRecord, { tool, operation, outcome, from, to }: AuditQuery): boolean {
  return (
    (tool === undefined || entry.tool_name === tool) &&
    (operation === undefined || entry.operation === operation) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (from === undefined || entry.timestamp >= from) &&
    (to === undefined || entry.timestamp < to)
  );
}

function readCursor(incarnation: string, cursor: string): number | undefined {
  const [kind, of, seq = ""] = fromCursor(cursor)?.split(" ") ?? [];
  return kind === "audit" && of === incarnation && /^\d{1,15}$/.test(seq) ? Number(seq) : undefined;
}

/** What is used of a session's stub. */
export type AuditedSessions = {
  getByName(name: string): {
    auditPage(query: AuditQuery): Promise<Answer<Page<AuditRecord>>>;
    auditVerdict(): Promise<Answer<ChainVerdict>>;
  };
};

/** The audit where there is no database: each session has its own, so a query must name one. */
export function createObjectAuditLog(namespace: AuditedSessions): AuditLog {
  return {
    async query(tenant, query) {
      if (query.session_id !== undefined) {
        return namespace.getByName(`${tenant}/${query.session_id}`).auditPage(query);
      }
      return refuse(
        "invalid_request_error",
        "session_id is required: without the database DB each session keeps its own audit",
      );
    },
    verify: async (tenant, sessionId) => namespace.getByName(`${tenant}/${sessionId}`).auditVerdict(),
  };
}
