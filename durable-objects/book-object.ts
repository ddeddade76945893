import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../src/compose/bindings.ts";
import type { AuditEntry } from "../src/contract/audit.ts";
import type { Answer } from "../src/contract/refusal.ts";
import type { Idempotency, Page, SessionInfo } from "../src/contract/sessions.ts";
import { TenantBook } from "./tenant-book.ts";

/**
 * Beside its sessions, a tenant has a book: an object of the session class under a name no session can have, so that a
 * deployment binds no further class. These are the calls such an object answers.
 */
export abstract class BookObject extends DurableObject<Bindings> {
  bookPut(session: SessionInfo): void {
    this.#book().put(session);
  }

  bookRemove(sessionId: string): void {
    this.#book().remove(sessionId);
  }

  bookList(limit: number, after: { created_at: string; session_id: string } | undefined): Page<SessionInfo> {
    return this.#book().list(limit, after);
  }

  bookAudit(entries: readonly AuditEntry[]): void {
    this.#book().recordAudit(entries);
  }

  bookKey(repeat: Idempotency, sessionId: string): Answer<{ session_id: string }> {
    return this.#book().claimKey(repeat.key, repeat.bodyDigest, sessionId, Date.now());
  }

  #book(): TenantBook {
    return new TenantBook(this.ctx.storage.sql);
  }
}
