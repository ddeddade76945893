import type { AuditEntry } from "../src/contract/audit.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import { ok } from "../src/contract/result.ts";
import type { Page, SessionInfo } from "../src/contract/sessions.ts";

/** How long a key of `POST /v1/sessions` is remembered, milliseconds. */
const KEY_LIFE_MS = 24 * 60 * 60 * 1000;

/**
 * What a tenant needs beside its sessions where there is no database: a list of sessions, the audit of stateless runs; and
 * always the keys of repeated creates. Lives in an object of its own (`<tenant>/~book…`, a name no session can have).
 */
export class TenantBook {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  recordAudit(entries: readonly AuditEntry[]): void {
    this.#prepare();
    for (const entry of entries) {
      this.#sql.exec("INSERT OR IGNORE INTO book_audit VALUES (?, ?)", entry.id, JSON.stringify(entry));
    }
  }

  put({ session_id, created_at, message_count }: SessionInfo): void {
    this.#prepare();
    this.#sql.exec("INSERT OR REPLACE INTO book_sessions VALUES (?, ?, ?)", session_id, created_at, message_count);
  }

  remove(sessionId: string): void {
    this.#prepare();
    this.#sql.exec("DELETE FROM book_sessions WHERE session_id = ?", sessionId);
  }

  list(limit: number, after: { created_at: string; session_id: string } | undefined): Page<SessionInfo> {
    this.#prepare();
    const rows = this.#sql
      .exec<SessionInfo>(
        `SELECT session_id, created_at, message_count FROM book_sessions
         WHERE ?1 IS NULL OR (created_at, session_id) < (?1, ?2) ORDER BY created_at DESC, session_id DESC LIMIT ?3`,
        after?.created_at ?? null,
        after?.session_id ?? null,
        limit + 1,
      )
      .toArray();
    const data = rows.slice(0, limit);
    const last = rows.length > limit ? data.at(-1) : undefined;
    return { data, next_cursor: last ? `${last.created_at} ${last.session_id}` : null };
  }

  /** Binds a key to the session its first request makes; the same key with another body is refused (H-21). */
  claimKey(key: string, bodyDigest: string, sessionId: string, now: number): Answer<{ session_id: string }> {
    this.#prepare();
    this.#sql.exec("DELETE FROM book_keys WHERE at < ?", now - KEY_LIFE_MS);
    const known = this.#sql
      .exec<{ digest: string; session_id: string }>("SELECT digest, session_id FROM book_keys WHERE key = ?", key)
      .toArray()[0];
    if (!known) {
      this.#sql.exec("INSERT INTO book_keys VALUES (?, ?, ?, ?)", key, bodyDigest, sessionId, now);
      return ok({ session_id: sessionId });
    }
    if (known.digest === bodyDigest) return ok({ session_id: known.session_id });
    return refuse("conflict_error", "Idempotency-Key was used for another request");
  }

  #prepare(): void {
    this.#sql.exec(`
      CREATE TABLE IF NOT EXISTS book_audit (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS book_sessions (
        session_id TEXT PRIMARY KEY, created_at TEXT NOT NULL, message_count INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS book_keys (
        key TEXT PRIMARY KEY, digest TEXT NOT NULL, session_id TEXT NOT NULL, at INTEGER NOT NULL
      ) WITHOUT ROWID;
    `);
  }
}
