import type { Entry } from "../src/contract/log.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import { ok } from "../src/contract/result.ts";
import type { Sandbox } from "../src/contract/sandbox.ts";
import type { SandboxBackend } from "../src/contract/sandbox-backend.ts";
import { cancelAgents } from "../src/engine/agent-end.ts";
import { SessionTree } from "../src/engine/log/tree.ts";
import { archiveName, unpackWorkspace, writePart } from "./session-archive.ts";
import type { LoggedEntry } from "./session-store.ts";
import type { SqlValue } from "./sql-value.ts";

/** Rows of one table on their way to another object. */
export type CopiedRows = { readonly table: string; readonly rows: readonly (readonly SqlValue[])[] };
export type CopyPage = { readonly parts: readonly CopiedRows[]; readonly next: CopyPosition | undefined };
export type CopyPosition = { readonly table: number; readonly offset: number };

/** A page stays well below what one call may carry (32 MiB). */
const PAGE_BYTES = 4 * 1024 * 1024;

type TableSource = { readonly table: string; readonly query: string; readonly bindings: readonly SqlValue[] };

/** What a fork takes along: the log up to `logEnd` with its long texts, and the files. Not events, questions, keys. */
function sources(logEnd: number): readonly TableSource[] {
  return [
    { table: "log", query: "SELECT * FROM log WHERE seq <= ? ORDER BY seq", bindings: [logEnd] },
    {
      table: "texts",
      query: `SELECT * FROM texts WHERE owner IN (SELECT 'log:' || seq FROM log WHERE seq <= ? AND body IS NULL)
              ORDER BY owner, part`,
      bindings: [logEnd],
    },
    { table: "workspace_nodes", query: "SELECT * FROM workspace_nodes ORDER BY ino", bindings: [] },
    { table: "workspace_names", query: "SELECT * FROM workspace_names ORDER BY parent, name", bindings: [] },
    { table: "workspace_chunks", query: "SELECT * FROM workspace_chunks ORDER BY ino, part", bindings: [] },
  ];
}

/** The last point of a log where nothing is half done; `inRun`: its run had not ended there. */
export function settledPoint(log: Iterable<LoggedEntry>): { readonly logEnd: number; readonly inRun: boolean } {
  let point = { logEnd: 0, inRun: false };
  for (const { seq, entry } of log) {
    if (entry.agent !== undefined) continue;
    if (entry.kind === "turn_ended") point = { logEnd: seq, inRun: true };
    if (entry.kind === "run_ended" || entry.kind === "forked") point = { logEnd: seq, inRun: false };
  }
  return point;
}

/** What ends everything that was at work where the copy was cut, and marks what stands before as inherited. */
export function closingEntries(copied: Iterable<LoggedEntry>, point: ForkPoint, now: number): Entry[] {
  const tree = new SessionTree("/workspace");
  for (const { entry } of copied) tree.append(entry);
  const agents = [...cancelAgents(tree, now)].flatMap((commit) => commit.entries);
  const end: Entry = { kind: "run_ended", outcome: { type: "done", stop_reason: "cancelled" } };
  return [...agents, ...(point.inRun ? [end] : []), { kind: "forked", from: point.sessionId }];
}

/** Tells whether files have changed between two looks: every write gives its file a new time or size. */
export function filesStamp(sql: SqlStorage): string {
  const row = sql
    .exec("SELECT count(*) AS n, total(size) AS size, total(mtime) AS times, max(mtime) AS last FROM workspace_nodes")
    .one();
  const names = sql.exec("SELECT count(*) AS n, total(ino) AS inos FROM workspace_names").one();
  return JSON.stringify([row, names]);
}

/** Where a fork cuts its source. `stamp` tells whether files have changed since. */
export type ForkPoint = {
  readonly logEnd: number;
  /** The run had not ended there. */
  readonly inRun: boolean;
  readonly sessionId: string;
  readonly stamp: string;
  readonly backend: SandboxBackend;
  /** Something is at work: on another machine it may be writing files just now. */
  readonly running: boolean;
};

/** What a fork asks of its source. */
type Source = {
  settledPoint(): Promise<Answer<ForkPoint>>;
  copyPage(logEnd: number, from: CopyPosition): Promise<CopyPage>;
  packFiles(archive: string): Promise<Answer<number>>;
  packedPart(archive: string, part: number): Promise<Answer<Uint8Array>>;
  dropPacked(archive: string): Promise<void>;
};

/** A session whose files keep changing is given up after so many copies. */
const TRIES = 4;

/** A whole copy of a session's log and files, also from under its run. */
export async function copySession(
  source: Source,
): Promise<Answer<{ readonly point: ForkPoint; readonly pages: readonly CopyPage[] }>> {
  for (let tries = 0; tries < TRIES; tries++) {
    const settled = await source.settledPoint();
    if (!settled.ok) return settled;
    const { backend, logEnd, stamp } = settled.value;
    if (backend !== "virtual" && settled.value.running) {
      return refuse("conflict_error", `something is at work on the ${backend} sandbox; ${LATER}`);
    }
    const pages = await collectCopy((from) => source.copyPage(logEnd, from));
    const after = await source.settledPoint();
    if (!after.ok) return after;
    // Files that were written meanwhile would be copied half old, half new.
    if (after.value.stamp === stamp) return ok({ point: settled.value, pages });
  }
  return refuse("conflict_error", `the session's files change too fast to be copied; ${LATER}`);
}

const LATER = "fork the session when its run waits or has ended";

/** Copies the files of a session on another machine into the workspace of its copy. */
export async function copyFiles(source: Source, sandbox: Sandbox, id: string): Promise<Answer<void>> {
  const archive = archiveName(id);
  try {
    const parts = await source.packFiles(archive);
    if (!parts.ok) return parts;
    for (let part = 0; part < parts.value; part++) {
      const bytes = await source.packedPart(archive, part);
      if (!bytes.ok) return bytes;
      const written = await writePart(sandbox, archive, part, bytes.value);
      if (!written.ok) return written;
    }
    return await unpackWorkspace(sandbox, archive);
  } finally {
    await source.dropPacked(archive);
  }
}

/** All pages of a copy, one call after the other. */
async function collectCopy(next: (from: CopyPosition) => Promise<CopyPage>): Promise<CopyPage[]> {
  const pages: CopyPage[] = [];
  for (let from: CopyPosition | undefined = { table: 0, offset: 0 }; from; ) {
    const page: CopyPage = await next(from);
    pages.push(page);
    from = page.next;
  }
  return pages;
}

/** The next page of a copy. */
export function readCopy(sql: SqlStorage, logEnd: number, from: CopyPosition): CopyPage {
  const parts: CopiedRows[] = [];
  let bytes = 0;
  let offset = from.offset;
  const list = sources(logEnd);
  for (let index = from.table; index < list.length; index++, offset = 0) {
    const source = list[index];
    if (!source) break;
    const rows: SqlValue[][] = [];
    parts.push({ table: source.table, rows });
    const cursor = sql.exec(`${source.query} LIMIT -1 OFFSET ?`, ...source.bindings, offset);
    for (const row of cursor.raw<SqlValue[]>()) {
      rows.push(row);
      bytes += row.reduce<number>((sum, value) => sum + sizeOf(value), 0);
      if (bytes >= PAGE_BYTES) return { parts, next: { table: index, offset: offset + rows.length } };
    }
  }
  return { parts, next: undefined };
}

export function writeCopy(sql: SqlStorage, parts: readonly CopiedRows[]): void {
  for (const { table, rows } of parts) {
    for (const row of rows) {
      sql.exec(`INSERT OR REPLACE INTO ${table} VALUES (${row.map(() => "?").join(", ")})`, ...row);
    }
  }
}

function sizeOf(value: SqlValue): number {
  if (typeof value === "string") return value.length * 2;
  return value instanceof ArrayBuffer ? value.byteLength : 8;
}
