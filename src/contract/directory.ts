import type { Page, SessionInfo } from "./sessions.ts";

/** The list of a tenant's sessions: a projection, each session object stays the source of truth (H-20). */
export type SessionDirectory = {
  put(tenant: string, session: SessionInfo): Promise<void>;
  remove(tenant: string, sessionId: string): Promise<void>;
  /** Newest first. `after` is the last item of the page before. */
  list(
    tenant: string,
    limit: number,
    after: { readonly created_at: string; readonly session_id: string } | undefined,
  ): Promise<Page<SessionInfo>>;
};
