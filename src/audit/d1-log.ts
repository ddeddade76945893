import {
  AuditEntry,
  type AuditFilter,
  type AuditLog,
  type AuditRecord,
  type ChainedEntry,
  type ChainHead,
  type ChainVerdict,
} from "../contract/audit.ts";
import { refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import { type AuditChain, createAuditChain } from "./chain.ts";
import { type AuditPosition, positionCursor, readPosition } from "./position.ts";
import { verifyChain } from "./verify-chain.ts";

/** Entries read at once when a chain is checked. */
const CHAIN_PAGE = 500;

type Row = Omit<AuditRecord, "extra"> & { readonly extra: string };

const FIELDS = `id, session_id, turn_number, timestamp, tool_name, operation, resource, actor_id, outcome, reason, extra,
  incarnation, seq, prev, digest`;

const CHAIN = `
  SELECT ${FIELDS} FROM audit
  WHERE tenant = ?1 AND session_id = ?2 AND incarnation = ?3 AND (seq, id) > (?4, ?5) ORDER BY seq, id LIMIT ${CHAIN_PAGE}`;

const INCARNATIONS = `
  SELECT incarnation FROM audit_heads WHERE tenant = ?1 AND session_id = ?2
  UNION SELECT incarnation FROM audit WHERE tenant = ?1 AND session_id = ?2 AND incarnation IS NOT NULL`;

/** An entry of a session that is in no chain: an intruder's, since a session writes none such. */
const STRAY =
  "SELECT 1 FROM audit WHERE tenant = ? AND session_id = ? AND (incarnation IS NULL OR seq IS NULL) LIMIT 1";

const HEAD = `
  SELECT session_id, incarnation, seq, digest FROM audit_heads WHERE tenant = ? AND session_id = ? AND incarnation = ?`;

export type D1AuditLogParts = {
  readonly database: D1Database;
  /** The deployment's secret (ENCRYPTION_KEY). */
  readonly secret: string | undefined;
  /**
   * The head as the living session itself has it, after it has delivered what it owed; undefined when there is no such
   * session. It is out of reach for whoever can only write to the database.
   */
  liveHead(tenant: string, sessionId: string): Promise<ChainHead | undefined>;
};

/** The audit as D1 has it. */
export function createD1AuditLog({ database, secret, liveHead }: D1AuditLogParts): AuditLog {
  async function* entriesOf(tenant: string, sessionId: string, incarnation: string): AsyncGenerator<ChainedEntry> {
    let [seq, id] = [-1, ""];
    for (let rows: Row[] = []; ; ) {
      const page = database.prepare(CHAIN).bind(tenant, sessionId, incarnation, seq, id);
      rows = (await page.all<Row>()).results;
      // A row that lost its fields is one that was changed: it is checked, and fails.
      for (const row of rows) yield chained(row);
      const last = rows.at(-1);
      if (!last || rows.length < CHAIN_PAGE) return;
      [seq, id] = [last.seq ?? 0, last.id];
    }
  }

  async function check(chain: AuditChain, tenant: string, sessionId: string): Promise<ChainVerdict | undefined> {
    const live = await liveHead(tenant, sessionId);
    const { results } = await database.prepare(INCARNATIONS).bind(tenant, sessionId).all<{ incarnation: string }>();
    const incarnations = new Set(results.map((row) => row.incarnation));
    if (live) incarnations.add(live.incarnation);
    if (incarnations.size === 0) return undefined;
    const stray = await database.prepare(STRAY).bind(tenant, sessionId).first();
    let entries = 0;
    for (const incarnation of incarnations) {
      const stored = await database.prepare(HEAD).bind(tenant, sessionId, incarnation).first<ChainHead>();
      const head = live?.incarnation === incarnation ? live : (stored ?? undefined);
      const verdict = await verifyChain(chain, tenant, entriesOf(tenant, sessionId, incarnation), head);
      if (!verdict.valid) return verdict;
      entries += verdict.entries;
    }
    if (stray) return { valid: false, broken_at: entries + 1, reason: "an entry stands in no chain" };
    return { valid: true, entries };
  }

  return {
    async query(tenant, { limit, cursor, ...filter }) {
      const after = cursor === undefined ? undefined : readPosition(tenant, cursor);
      if (cursor !== undefined && !after) return refuse("invalid_request_error", "cursor is not one of this list");
      const { where, values } = conditionsOf({ tenant, ...filter, after });
      const order = "timestamp DESC, coalesce(seq, 0) DESC, id DESC";
      const { results } = await database
        .prepare(`SELECT ${FIELDS} FROM audit WHERE ${where} ORDER BY ${order} LIMIT ?`)
        .bind(...values, limit + 1)
        .all<Row>();
      const data = results.slice(0, limit).map((row) => ({ ...row, extra: extraOf(row.extra) }));
      const last = results.length > limit ? data.at(-1) : undefined;
      const next = last && { timestamp: last.timestamp, seq: last.seq ?? 0, id: last.id };
      return ok({ data, next_cursor: next ? positionCursor(tenant, next) : null });
    },
    async verify(tenant, sessionId) {
      const chain = await createAuditChain(secret);
      const first = await check(chain, tenant, sessionId);
      if (!first) return refuse("not_found_error", "session not found");
      if (first.valid) return ok(first);
      // A session that works goes on while it is read; what is broken is so the second time, too.
      return ok((await check(chain, tenant, sessionId)) ?? first);
    },
  };
}

/** Only what was asked for stands in the statement: a condition that might be absent would keep SQLite from its indexes. */
function conditionsOf(asked: AuditFilter & { readonly tenant: string; readonly after: AuditPosition | undefined }): {
  readonly where: string;
  readonly values: readonly (string | number)[];
} {
  const { after } = asked;
  const all: readonly (readonly [string, readonly (string | number | undefined)[]])[] = [
    ["tenant = ?", [asked.tenant]],
    ["session_id = ?", [asked.session_id]],
    ["tool_name = ?", [asked.tool]],
    ["operation = ?", [asked.operation]],
    ["outcome = ?", [asked.outcome]],
    ["timestamp >= ?", [asked.from]],
    ["timestamp < ?", [asked.to]],
    // The first one says nothing new, but it is the one that an index knows.
    ["timestamp <= ?", [after?.timestamp]],
    ["(timestamp, coalesce(seq, 0), id) < (?, ?, ?)", [after?.timestamp, after?.seq, after?.id]],
  ];
  const given = all.filter(([, values]) => values[0] !== undefined);
  const values = given.flatMap(([, list]) => list.filter((value) => value !== undefined));
  return { where: given.map(([condition]) => condition).join(" AND "), values };
}

function chained(row: Row): ChainedEntry {
  const { extra, incarnation, seq, prev, digest, ...rest } = row;
  const place = { incarnation: incarnation ?? "", seq: seq ?? 0, prev: prev ?? "", digest: digest ?? "" };
  return { ...rest, extra: extraOf(extra), ...place };
}

/** Text that is not what was written still shows, as it is. */
function extraOf(text: string): Record<string, string> {
  try {
    const parsed = AuditEntry.shape.extra.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: shown below.
  }
  return { unreadable: text };
}
