/** The session object's tables. Made on create only: a look-up of a session that does not exist writes nothing (decisions 6). */
export function createSessionTables(sql: SqlStorage): void {
  sql.exec(`
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    -- Append only. body is NULL when the text is long and lies in texts.
    CREATE TABLE log (
      seq INTEGER PRIMARY KEY, version INTEGER NOT NULL, run_id TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT
    );
    CREATE TABLE events (seq INTEGER PRIMARY KEY, run_id TEXT NOT NULL, type TEXT NOT NULL, body TEXT, pieces TEXT);
    CREATE INDEX events_by_run ON events (run_id, seq);
    CREATE TABLE texts (owner TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (owner, part)) WITHOUT ROWID;
    CREATE TABLE decisions (
      id TEXT PRIMARY KEY, run_id TEXT NOT NULL, log_seq INTEGER NOT NULL, deadline INTEGER NOT NULL, state TEXT NOT NULL,
      agent TEXT
    ) WITHOUT ROWID;
    CREATE TABLE queue (position INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, body TEXT, at INTEGER);
    CREATE TABLE credentials (run_id TEXT PRIMARY KEY, sealed TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE keys (key TEXT PRIMARY KEY, digest TEXT NOT NULL, run_id TEXT NOT NULL, cursor INTEGER NOT NULL) WITHOUT ROWID;
  `);
  createOutbox(sql);
}

/** Audit entries in the order of what they speak of. `link` is NULL until the entry has its place in the chain. */
function createOutbox(sql: SqlStorage): void {
  sql.exec(`
    CREATE TABLE outbox (
      position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, link TEXT
    );
  `);
}

/** Brings the tables of a session made by an earlier version up to date. */
export function upgradeSessionTables(sql: SqlStorage): void {
  const tables = sql.exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  const made = new Map(tables.toArray().map((table) => [table.name, table.sql]));
  if (made.get("decisions")?.includes("agent") === false) sql.exec("ALTER TABLE decisions ADD COLUMN agent TEXT");
  // The table's own text names the column type `at INTEGER`; a bare `at` would be found in other words.
  if (made.get("queue")?.includes("at INTEGER") === false) sql.exec("ALTER TABLE queue ADD COLUMN at INTEGER");
  if (made.get("outbox")?.includes("position") !== false) return;
  sql.exec("ALTER TABLE outbox RENAME TO outbox_v1");
  createOutbox(sql);
  sql.exec("INSERT INTO outbox (id, body) SELECT id, body FROM outbox_v1 ORDER BY id");
  sql.exec("DROP TABLE outbox_v1");
}

export function hasSessionTables(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray().length > 0;
}

/** Rows may hold 2 MB in production and any size locally; a UTF-16 unit is at most 3 bytes, so this stays below 1 MB. */
const PART_UNITS = 300_000;

/** A text that may be longer than a row: short ones stay in their own row, long ones go to `texts` in parts. */
export class LongTexts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** What to put into the owner's own row: the text, or null when it was stored here. */
  store(owner: string, text: string): string | null {
    if (text.length <= PART_UNITS) return text;
    for (let from = 0, part = 0; from < text.length; part++) {
      const to = cutPoint(text, from + PART_UNITS);
      this.#sql.exec("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", owner, part, text.slice(from, to));
      from = to;
    }
    return null;
  }

  load(owner: string, inline: string | null): string {
    if (inline !== null) return inline;
    const rows = this.#sql.exec<{ body: string }>("SELECT body FROM texts WHERE owner = ? ORDER BY part", owner);
    return rows
      .toArray()
      .map((row) => row.body)
      .join("");
  }

  drop(owner: string): void {
    this.#sql.exec("DELETE FROM texts WHERE owner = ?", owner);
  }
}

/** Never between the halves of a surrogate pair: SQLite stores UTF-8 and would replace both. */
function cutPoint(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at;
}
