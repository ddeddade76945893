import type { AuditSink } from "../contract/audit.ts";

const INSERT = `
  INSERT OR IGNORE INTO audit
    (id, tenant, session_id, turn_number, timestamp, tool_name, operation, resource, actor_id, outcome, reason, extra,
     incarnation, seq, prev, digest)
  SELECT value->>'id', ?1, value->>'session_id', value->>'turn_number', value->>'timestamp', value->>'tool_name',
    value->>'operation', value->>'resource', value->>'actor_id', value->>'outcome', value->>'reason', value->>'extra',
    value->>'incarnation', value->>'seq', value->>'prev', value->>'digest'
  FROM json_each(?2)`;

/** A late repeat of an older delivery leaves the head where it is. */
const PUT_HEAD = `
  INSERT INTO audit_heads (tenant, session_id, incarnation, seq, digest) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (tenant, session_id, incarnation) DO UPDATE SET seq = excluded.seq, digest = excluded.digest
  WHERE excluded.seq > seq`;

/**
 * Audit in D1 (S-4): one statement for any number of entries, and an id that is there already is left alone, so that a
 * delivery may be repeated. The head goes with its entries in one transaction.
 */
export function createD1AuditSink(database: D1Database): AuditSink {
  return {
    async write(tenant, entries, head) {
      if (entries.length === 0) return;
      const insert = database.prepare(INSERT).bind(tenant, JSON.stringify(entries));
      if (!head) return void (await insert.run());
      const { session_id, incarnation, seq, digest } = head;
      await database.batch([insert, database.prepare(PUT_HEAD).bind(tenant, session_id, incarnation, seq, digest)]);
    },
  };
}
