import type { SessionDirectory } from "../contract/directory.ts";
import type { SessionInfo } from "../contract/sessions.ts";

/** The list of sessions in D1 (H-20). */
export function createD1Directory(database: D1Database): SessionDirectory {
  const upsert = `
    INSERT INTO sessions (tenant, session_id, created_at, message_count) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (tenant, session_id) DO UPDATE SET created_at = excluded.created_at, message_count = excluded.message_count`;
  const page = `
    SELECT session_id, created_at, message_count FROM sessions
    WHERE tenant = ?1 AND (?2 IS NULL OR (created_at, session_id) < (?2, ?3))
    ORDER BY created_at DESC, session_id DESC LIMIT ?4`;
  return {
    async put(tenant, { session_id, created_at, message_count }) {
      await database.prepare(upsert).bind(tenant, session_id, created_at, message_count).run();
    },
    async remove(tenant, sessionId) {
      await database.prepare("DELETE FROM sessions WHERE tenant = ? AND session_id = ?").bind(tenant, sessionId).run();
    },
    async list(tenant, limit, after) {
      const from = [after?.created_at ?? null, after?.session_id ?? null];
      const { results } = await database
        .prepare(page)
        .bind(tenant, ...from, limit + 1)
        .all<SessionInfo>();
      const data = results.slice(0, limit);
      const last = results.length > limit ? data.at(-1) : undefined;
      return { data, next_cursor: last ? `${last.created_at} ${last.session_id}` : null };
    },
  };
}
