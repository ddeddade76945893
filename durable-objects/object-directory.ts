import type { AuditEntry, AuditSink } from "../src/contract/audit.ts";
import type { SessionDirectory } from "../src/contract/directory.ts";
import type { Answer } from "../src/contract/refusal.ts";
import type { Idempotency, Page, SessionInfo } from "../src/contract/sessions.ts";

type Place = { readonly created_at: string; readonly session_id: string };

/** What a book object offers: the `book…` methods of `Session`, as seen through a stub. */
type BookObject = {
  bookPut(session: SessionInfo): Promise<void>;
  bookRemove(sessionId: string): Promise<void>;
  bookList(limit: number, after: Place | undefined): Promise<Page<SessionInfo>>;
  bookAudit(entries: readonly AuditEntry[]): Promise<void>;
  bookKey(repeat: Idempotency, sessionId: string): Promise<Answer<{ session_id: string }>>;
};
type Namespace = { getByName(name: string): BookObject };

/** A tenant's book: an object of the session class under a name no session can have. */
export function book(namespace: unknown, tenant: string): BookObject {
  // The binding of the session class (wrangler.toml); its own type would make the two files import each other.
  return (namespace as Namespace).getByName(`${tenant}/~book`);
}

/** The list of sessions where there is no database. */
export function createBookDirectory(namespace: unknown): SessionDirectory {
  return {
    put: (tenant, session) => book(namespace, tenant).bookPut(session),
    remove: (tenant, id) => book(namespace, tenant).bookRemove(id),
    list: (tenant, limit, after) => book(namespace, tenant).bookList(limit, after),
  };
}

/** Audit of stateless runs where there is no database. */
export function createBookAudit(namespace: unknown): AuditSink {
  return { write: (tenant, entries) => book(namespace, tenant).bookAudit([...entries]) };
}
