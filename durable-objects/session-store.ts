import { CHAIN_START, type ChainEnd } from "../src/audit/chain.ts";
import { AuditEntry, type ChainedEntry, ChainLink } from "../src/contract/audit.ts";
import { Entry, LOG_VERSION, RunPlan } from "../src/contract/log.ts";
import type { SandboxBackend } from "../src/contract/sandbox-backend.ts";
import type { EventRow } from "../src/session/stored-events.ts";
import { createSessionTables, hasSessionTables, LongTexts, upgradeSessionTables } from "./session-tables.ts";

export type SessionMeta = {
  readonly tenant: string;
  readonly sessionId: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Tells this life of the id from an earlier, deleted one. */
  readonly incarnation: string;
  /** Where its workspace lies; absent in sessions made before there was a choice. */
  readonly backend?: SandboxBackend;
  /** `Idempotency-Key` of the request that made it. */
  readonly key?: string;
};

export type LoggedEntry = { readonly seq: number; readonly runId: string; readonly at: number; readonly entry: Entry };

/** All SQL of a session object. Synchronous; calls made in one stretch share one commit. */
export class SessionStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #texts: LongTexts;
  /** What is asked for all the time is read once; `forget` where the rows may have changed behind it. */
  #known: SessionMeta | undefined;
  #lastLogSeq: number | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#texts = new LongTexts(storage.sql);
    upgradeSessionTables(storage.sql);
  }

  /** All of `work` or nothing of it. */
  transaction<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      // Nothing was stored: what memory believes is worth nothing any more.
      this.forget();
      throw error;
    }
  }

  /** The rows were deleted, rolled back, or written by somebody else: they are read anew when they are needed. */
  forget(): void {
    this.#known = undefined;
    this.#lastLogSeq = undefined;
  }

  meta(): SessionMeta | undefined {
    if (this.#known) return this.#known;
    if (!hasSessionTables(this.#sql)) return undefined;
    const text = this.#getMeta("session");
    this.#known = text === undefined ? undefined : (JSON.parse(text) as SessionMeta);
    return this.#known;
  }

  create(meta: SessionMeta): void {
    createSessionTables(this.#sql);
    this.#setMeta("session", JSON.stringify(meta));
    this.setUnlisted(true);
  }

  /** The session's row in the list of sessions is missing or out of date. */
  isUnlisted(): boolean {
    return this.meta() !== undefined && this.#getMeta("unlisted") === "1";
  }

  setUnlisted(unlisted: boolean): void {
    this.#setMeta("unlisted", unlisted ? "1" : "0");
  }

  /** The run that a repeated request belongs to (H-21). */
  keyOf(key: string): { readonly digest: string; readonly runId: string; readonly cursor: number } | undefined {
    type Row = { digest: string; run_id: string; cursor: number };
    const row = this.#sql.exec<Row>("SELECT digest, run_id, cursor FROM keys WHERE key = ?", key).toArray()[0];
    return row && { digest: row.digest, runId: row.run_id, cursor: row.cursor };
  }

  saveKey(key: string, digest: string, runId: string, cursor: number): void {
    this.#sql.exec("INSERT INTO keys VALUES (?, ?, ?, ?)", key, digest, runId, cursor);
  }

  /** Id of the session's machine, where the backend gives one. */
  machine(): string | undefined {
    return this.#getMeta("machine");
  }

  setMachine(id: string): void {
    this.#setMeta("machine", id);
  }

  reservedSeq(): number {
    return Number(this.#getMeta("reserved") ?? 0);
  }

  setReservedSeq(reserved: number): void {
    this.#setMeta("reserved", String(reserved));
  }

  /** Entries from `after` on, oldest first. A row of another version is refused, never guessed. */
  *entries(after = 0): Generator<LoggedEntry> {
    const rows = this.#sql.exec<{ seq: number; version: number; run_id: string; at: number; body: string | null }>(
      "SELECT seq, version, run_id, at, body FROM log WHERE seq > ? ORDER BY seq",
      after,
    );
    for (const row of rows.toArray()) {
      if (row.version !== LOG_VERSION) throw new Error(`log entry ${row.seq} has version ${row.version}`);
      const entry = Entry.parse(JSON.parse(this.#texts.load(`log:${row.seq}`, row.body)));
      yield { seq: row.seq, runId: row.run_id, at: row.at, entry };
    }
  }

  /** Appends entries; a question becomes a row that can be answered once, an answer closes it. */
  append(runId: string, entries: readonly Entry[], at: number): void {
    for (const entry of entries) {
      const seq = this.#nextLogSeq();
      const body = this.#texts.store(`log:${seq}`, JSON.stringify(entry));
      this.#sql.exec("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", seq, LOG_VERSION, runId, entry.kind, at, body);
      if (entry.kind === "decision_asked") {
        const { decision_id: id, deadline } = entry;
        this.#sql.exec(
          "INSERT INTO decisions (id, run_id, log_seq, deadline, state, agent) VALUES (?, ?, ?, ?, 'pending', ?)",
          ...[id, runId, seq, deadline, entry.agent ?? null],
        );
      }
      if (entry.kind === "decision_settled") {
        const state = entry.by === "user" ? "answered" : "timeout";
        this.#sql.exec("UPDATE decisions SET state = ? WHERE id = ?", state, entry.decision_id);
      }
      if (entry.kind === "run_ended" && entry.agent !== undefined) {
        this.#sql.exec("UPDATE decisions SET state = 'void' WHERE agent = ? AND state = 'pending'", entry.agent);
      } else if (entry.kind === "run_ended") {
        this.#sql.exec("UPDATE decisions SET state = 'void' WHERE run_id = ? AND state = 'pending'", runId);
        this.#sql.exec("DELETE FROM credentials WHERE run_id = ?", runId);
      }
    }
  }

  /** Whether nothing is to be done, told by the last row: for a look that need not read the whole log. */
  isAtRest(): boolean {
    const rows = this.#sql.exec<{ kind: string; body: string | null }>(
      "SELECT kind, body FROM log ORDER BY seq DESC LIMIT 1",
    );
    const last = rows.toArray()[0];
    if (!last) return this.queueLength() === 0;
    if (last.kind !== "run_ended" || last.body === null || this.queueLength() > 0) return false;
    const entry = Entry.parse(JSON.parse(last.body));
    return entry.kind === "run_ended" && entry.agent === undefined;
  }

  #nextLogSeq(): number {
    this.#lastLogSeq ??= this.#sql.exec<{ n: number }>("SELECT coalesce(max(seq), 0) AS n FROM log").one().n;
    return ++this.#lastLogSeq;
  }

  addEvents(rows: readonly EventRow[]): void {
    for (const row of rows) {
      const body = this.#texts.store(`event:${row.seq}`, row.data);
      const pieces = row.pieces ? JSON.stringify(row.pieces) : null;
      this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row.seq, row.runId, row.type, body, pieces);
    }
  }

  /** Event rows with a number above `after`, oldest first; of one run only when it is given. */
  *events(after: number, runId: string | undefined): Generator<EventRow> {
    type Row = { seq: number; run_id: string; type: string; body: string | null; pieces: string | null };
    const rows =
      runId === undefined
        ? this.#sql.exec<Row>("SELECT * FROM events WHERE seq > ? ORDER BY seq", after)
        : this.#sql.exec<Row>("SELECT * FROM events WHERE run_id = ? AND seq > ? ORDER BY seq", runId, after);
    for (const row of rows) {
      yield {
        seq: row.seq,
        runId: row.run_id,
        type: row.type,
        data: this.#texts.load(`event:${row.seq}`, row.body),
        pieces: row.pieces === null ? undefined : (JSON.parse(row.pieces) as [number, number][]),
      };
    }
  }

  /** Events up to this number are not kept any more. */
  droppedUpTo(): number {
    return Number(this.#getMeta("dropped") ?? 0);
  }

  /** Keeps the newest `keep` event rows. */
  dropEventsBut(keep: number): void {
    const rows = this.#sql.exec<{ seq: number }>("SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?", keep);
    const edge = rows.toArray()[0]?.seq;
    if (edge !== undefined) this.#dropEvents(edge);
  }

  /** Drops the events of runs that have written nothing since; `than` in milliseconds since the epoch. */
  dropEventsOlder(than: number): void {
    const { edge } = this.#sql
      .exec<{ edge: number | null }>(
        "SELECT max(seq) AS edge FROM events WHERE run_id IN (SELECT run_id FROM log GROUP BY run_id HAVING max(at) < ?)",
        than,
      )
      .one();
    if (edge !== null) this.#dropEvents(edge);
  }

  #dropEvents(edge: number): void {
    this.#sql.exec(
      "DELETE FROM texts WHERE owner IN (SELECT 'event:' || seq FROM events WHERE seq <= ? AND body IS NULL)",
      edge,
    );
    this.#sql.exec("DELETE FROM events WHERE seq <= ?", edge);
    this.#setMeta("dropped", String(edge));
  }

  decisionState(id: string): string | undefined {
    return this.#sql.exec<{ state: string }>("SELECT state FROM decisions WHERE id = ?", id).toArray()[0]?.state;
  }

  /** Open decisions as they were asked. */
  openDecisions(): (Extract<Entry, { kind: "decision_asked" }> & { runId: string })[] {
    const rows = this.#sql.exec<{ seq: number; run_id: string; body: string | null }>(
      `SELECT log.seq, log.run_id, log.body FROM decisions JOIN log ON log.seq = decisions.log_seq
       WHERE state = 'pending' ORDER BY log.seq`,
    );
    return rows.toArray().flatMap((row) => {
      const entry = Entry.parse(JSON.parse(this.#texts.load(`log:${row.seq}`, row.body)));
      return entry.kind === "decision_asked" ? [{ ...entry, runId: row.run_id }] : [];
    });
  }

  openDecision(id: string): ReturnType<SessionStore["openDecisions"]>[number] | undefined {
    return this.openDecisions().find((decision) => decision.decision_id === id);
  }

  /** A run that waits for the one before it; `at` is when it came. */
  enqueue(plan: RunPlan, at: number): void {
    const runId = plan.config.run_id;
    const body = this.#texts.store(`queue:${runId}`, JSON.stringify(plan));
    this.#sql.exec("INSERT INTO queue (run_id, body, at) VALUES (?, ?, ?)", runId, body, at);
  }

  /** When the longest-waiting message came. */
  oldestQueued(): number | undefined {
    return this.#sql.exec<{ at: number | null }>("SELECT min(at) AS at FROM queue").one().at ?? undefined;
  }

  /** Takes out what came before a time; gives its runs. */
  dequeueOlder(than: number): string[] {
    if ((this.oldestQueued() ?? than) >= than) return [];
    return this.transaction(() => {
      const rows = this.#sql
        .exec<{ run_id: string }>("DELETE FROM queue WHERE at < ? RETURNING run_id", than)
        .toArray();
      for (const { run_id } of rows) {
        this.#texts.drop(`queue:${run_id}`);
        this.#sql.exec("DELETE FROM credentials WHERE run_id = ?", run_id);
      }
      return rows.map((row) => row.run_id);
    });
  }

  clearQueue(): void {
    this.#sql.exec("DELETE FROM texts WHERE owner IN (SELECT 'queue:' || run_id FROM queue)");
    this.#sql.exec("DELETE FROM queue");
  }

  queueLength(): number {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM queue").one().n;
  }

  isQueued(runId: string): boolean {
    return this.#sql.exec("SELECT 1 FROM queue WHERE run_id = ?", runId).toArray().length > 0;
  }

  dequeue(): RunPlan | undefined {
    const row = this.#sql
      .exec<{ run_id: string; body: string | null }>("SELECT run_id, body FROM queue ORDER BY position LIMIT 1")
      .toArray()[0];
    if (!row) return undefined;
    const owner = `queue:${row.run_id}`;
    const plan = RunPlan.parse(JSON.parse(this.#texts.load(owner, row.body)));
    this.#sql.exec("DELETE FROM queue WHERE run_id = ?", row.run_id);
    this.#texts.drop(owner);
    return plan;
  }

  /** The number of the `turn_start` that came last in a run. */
  lastTurnStart(runId: string): number | undefined {
    const { seq } = this.#sql
      .exec<{ seq: number | null }>(
        "SELECT max(seq) AS seq FROM events WHERE run_id = ? AND type = 'turn_start'",
        runId,
      )
      .one();
    return seq ?? undefined;
  }

  /** What the run's stream last had; undefined before its first event. */
  lastEventType(runId: string): string | undefined {
    const rows = this.#sql.exec<{ type: string }>(
      "SELECT type FROM events WHERE run_id = ? ORDER BY seq DESC LIMIT 1",
      runId,
    );
    return rows.toArray()[0]?.type;
  }

  saveCredentials(runId: string, sealed: string): void {
    this.#sql.exec("INSERT OR REPLACE INTO credentials VALUES (?, ?)", runId, sealed);
  }

  credentials(runId: string): string | undefined {
    const rows = this.#sql.exec<{ sealed: string }>("SELECT sealed FROM credentials WHERE run_id = ?", runId);
    return rows.toArray()[0]?.sealed;
  }

  addAudit(entries: readonly AuditEntry[]): void {
    for (const entry of entries) {
      this.#sql.exec("INSERT OR IGNORE INTO outbox (id, body) VALUES (?, ?)", entry.id, wellFormedJson(entry));
    }
  }

  /** Whether anything lies in the outbox; `unlinked`: without a place in the chain yet. */
  auditWaiting(unlinked = false): boolean {
    const where = unlinked ? "WHERE link IS NULL" : "";
    return this.#sql.exec(`SELECT 1 FROM outbox ${where} LIMIT 1`).toArray().length > 0;
  }

  /** Where this incarnation's chain ends. */
  chainEnd(): ChainEnd {
    const text = this.#getMeta("audit_end");
    return text === undefined ? CHAIN_START : (JSON.parse(text) as ChainEnd);
  }

  /** The oldest entries without a place in the chain. */
  unlinkedAudit(limit: number): AuditEntry[] {
    const rows = this.#sql.exec<{ body: string }>(
      "SELECT body FROM outbox WHERE link IS NULL ORDER BY position LIMIT ?",
      limit,
    );
    return rows.toArray().map((row) => AuditEntry.parse(JSON.parse(row.body)));
  }

  /** Entries get their places and the chain its new end, all in one. */
  linkAudit(entries: readonly ChainedEntry[]): void {
    this.transaction(() => {
      for (const { id, incarnation, seq, prev, digest } of entries) {
        const link = JSON.stringify({ incarnation, seq, prev, digest });
        this.#sql.exec("UPDATE outbox SET link = ? WHERE id = ?", link, id);
      }
      const last = entries.at(-1);
      if (last) this.#setMeta("audit_end", JSON.stringify({ seq: last.seq, digest: last.digest }));
    });
  }

  /** Entries with their places, oldest first, above a position in the chain. */
  *linkedAudit(after = 0): Generator<ChainedEntry> {
    const rows = this.#sql.exec<{ body: string; link: string }>(
      "SELECT body, link FROM outbox WHERE link IS NOT NULL AND link->>'seq' > ? ORDER BY position",
      after,
    );
    for (const row of rows) {
      yield { ...AuditEntry.parse(JSON.parse(row.body)), ...ChainLink.parse(JSON.parse(row.link)) };
    }
  }

  dropAudit(entries: readonly AuditEntry[]): void {
    for (const entry of entries) this.#sql.exec("DELETE FROM outbox WHERE id = ?", entry.id);
  }

  #getMeta(key: string): string | undefined {
    return this.#sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = ?", key).toArray()[0]?.value;
  }

  #setMeta(key: string, value: string): void {
    this.#sql.exec("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value);
  }
}

/**
 * A digest holds only for text that every database gives back as it got it: halves of a surrogate pair and NUL are not
 * such, and are replaced before the entry gets its place.
 */
function wellFormedJson(entry: AuditEntry): string {
  return JSON.stringify(entry, (_key, value: unknown) =>
    typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value,
  );
}
