-- The chain of a session's audit: each entry carries the digest of the one before it. NULL for entries of stateless runs.
ALTER TABLE audit ADD COLUMN incarnation TEXT;
ALTER TABLE audit ADD COLUMN seq INTEGER;
ALTER TABLE audit ADD COLUMN prev TEXT;
ALTER TABLE audit ADD COLUMN digest TEXT;
CREATE INDEX audit_by_chain ON audit (tenant, session_id, incarnation, seq);

-- Where each chain ends, so that entries cut off its end are missed. digest is made over the last entry's, never a copy of it.
CREATE TABLE audit_heads (
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (tenant, session_id, incarnation)
) WITHOUT ROWID;

-- Who may use the deployment, by the SHA-256 of a token (hex); the token itself is stored nowhere. settings is JSON.
CREATE TABLE tenants (
  id TEXT PRIMARY KEY,
  token_sha256 TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  revoked_at TEXT,
  settings TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
