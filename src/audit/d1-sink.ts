import type { AuditEntry, AuditSink } from "../contract/audit.ts";

/**
 * Audit in D1 (S-4): one statement for any number of entries, and an id that is there already is left alone, so that a
 * delivery may be repeated.
 */
export function createD1AuditSink(database: D1Database): AuditSink {
  const insert = `
    INSERT OR IGNORE INTO audit
      (id, tenant, session_id, turn_number, timestamp, tool_name, operation, resource, actor_id, outcome, reason, extra)
    SELECT value->>'id', ?1, value->>'session_id', value->>'turn_number', value->>'timestamp', value->>'tool_name',
      value->>'operation', value->>'resource', value->>'actor_id', value->>'outcome', value->>'reason', value->>'extra'
    FROM json_each(?2)`;
  return {
    async write(tenant: string, entries: readonly AuditEntry[]): Promise<void> {
      if (entries.length === 0) return;
      await database.prepare(insert).bind(tenant, JSON.stringify(entries)).run();
    },
  };
}
