-- Audit entries of all tenants, filled from the sessions' outboxes; `id` makes a repeated delivery harmless.
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  turn_number INTEGER NOT NULL,
  timestamp TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  operation TEXT NOT NULL,
  resource TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  extra TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX audit_by_session ON audit (tenant, session_id, timestamp);
CREATE INDEX audit_by_time ON audit (tenant, timestamp);

-- One row a session, for listing across a tenant's sessions; the session object stays the source of truth.
CREATE TABLE sessions (
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  message_count INTEGER NOT NULL,
  PRIMARY KEY (tenant, session_id)
) WITHOUT ROWID;
CREATE INDEX sessions_newest ON sessions (tenant, created_at, session_id);
