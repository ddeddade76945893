import { type Child, type FileStore, type Node, type NodeKind, seedStore, type Usage } from "./file-store.ts";

/** `SqlStorage` of a Durable Object, as far as it is used here. */
export type WorkspaceSql = {
  exec(query: string, ...values: unknown[]): { toArray(): unknown[]; one(): unknown };
};

/** A Durable Object's SQLite. */
export type WorkspaceDatabase = {
  readonly sql: WorkspaceSql;
  /** Runs `work` wholly or not at all: the object's `transactionSync`. */
  readonly transaction: <T>(work: () => T) => T;
};

type NodeRow = {
  readonly ino: number;
  readonly kind: number;
  readonly mode: number;
  readonly size: number;
  readonly mtime: number;
  readonly target: string;
  readonly links: number;
};

const KINDS = ["file", "directory", "symlink"] as const satisfies readonly NodeKind[];
const NODE = "n.ino, n.kind, n.mode, n.size, n.mtime, n.target, n.links";

/**
 * Makes the tables of a workspace and its first directories; does nothing when they are there. Called when a session is
 * created, in the caller's transaction; nothing else here makes tables, so that looking at a session never makes one.
 */
export function createWorkspaceTables(sql: WorkspaceSql): void {
  const known = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workspace_nodes'").toArray();
  if (known.length > 0) return;
  sql.exec(`
    CREATE TABLE workspace_nodes (
      ino INTEGER PRIMARY KEY, kind INTEGER NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL,
      mtime INTEGER NOT NULL, target TEXT NOT NULL, links INTEGER NOT NULL
    );
    CREATE TABLE workspace_names (
      parent INTEGER NOT NULL, name TEXT NOT NULL, ino INTEGER NOT NULL, PRIMARY KEY (parent, name)
    ) WITHOUT ROWID;
    CREATE TABLE workspace_chunks (
      ino INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (ino, part)
    );
  `);
  seedStore(createSqlStore({ sql, transaction: (work) => work() }), Date.now());
}

/** A file store in a Durable Object's SQLite. The tables must exist. */
export function createSqlStore(database: WorkspaceDatabase): FileStore {
  const { sql, transaction } = database;
  const rows = <T>(query: string, ...values: unknown[]) => sql.exec(query, ...values).toArray() as T[];
  return {
    transaction,
    node(ino) {
      return toNode(rows<NodeRow>(`SELECT ${NODE} FROM workspace_nodes n WHERE n.ino = ?`, ino)[0]);
    },
    lookup(parent, name) {
      const query = `SELECT ${NODE} FROM workspace_names e JOIN workspace_nodes n ON n.ino = e.ino WHERE e.parent = ? AND e.name = ?`;
      return toNode(rows<NodeRow>(query, parent, name)[0]);
    },
    children(parent) {
      const query = `SELECT e.name AS name, ${NODE} FROM workspace_names e JOIN workspace_nodes n ON n.ino = e.ino WHERE e.parent = ?`;
      return rows<NodeRow & { readonly name: string }>(query, parent).flatMap((row): Child[] => {
        const node = toNode(row);
        return node ? [{ name: row.name, node }] : [];
      });
    },
    isEmpty: (parent) => rows("SELECT 1 FROM workspace_names WHERE parent = ? LIMIT 1", parent).length === 0,
    add(node) {
      const query =
        "INSERT INTO workspace_nodes (kind, mode, size, mtime, target, links) VALUES (?, ?, ?, ?, ?, ?) RETURNING ino";
      const values = [KINDS.indexOf(node.kind), node.mode, node.size, node.mtimeMs, node.target, node.links];
      return (sql.exec(query, ...values).one() as { readonly ino: number }).ino;
    },
    save(node) {
      sql.exec(
        "UPDATE workspace_nodes SET mode = ?, size = ?, mtime = ?, target = ?, links = ? WHERE ino = ?",
        ...[node.mode, node.size, node.mtimeMs, node.target, node.links, node.ino],
      );
    },
    drop(ino) {
      sql.exec("DELETE FROM workspace_chunks WHERE ino = ?", ino);
      sql.exec("DELETE FROM workspace_nodes WHERE ino = ?", ino);
    },
    link(parent, name, ino) {
      sql.exec("INSERT OR REPLACE INTO workspace_names (parent, name, ino) VALUES (?, ?, ?)", parent, name, ino);
    },
    unlink(parent, name) {
      sql.exec("DELETE FROM workspace_names WHERE parent = ? AND name = ?", parent, name);
    },
    chunk(ino, index) {
      const query = "SELECT data FROM workspace_chunks WHERE ino = ? AND part = ?";
      const row = rows<{ readonly data: ArrayBuffer }>(query, ino, index)[0];
      return row && new Uint8Array(row.data);
    },
    putChunk(ino, index, data) {
      sql.exec("INSERT OR REPLACE INTO workspace_chunks (ino, part, data) VALUES (?, ?, ?)", ino, index, data);
    },
    dropChunks(ino, from) {
      sql.exec("DELETE FROM workspace_chunks WHERE ino = ? AND part >= ?", ino, from);
    },
    copyChunks(from, to) {
      const query =
        "INSERT INTO workspace_chunks (ino, part, data) SELECT ?, part, data FROM workspace_chunks WHERE ino = ?";
      sql.exec(query, to, from);
    },
    usage() {
      const query = "SELECT COALESCE(SUM(size), 0) AS bytes, COUNT(*) AS nodes FROM workspace_nodes";
      return sql.exec(query).one() as Usage;
    },
  };
}

function toNode(row: NodeRow | undefined): Node | undefined {
  const kind = row && KINDS[row.kind];
  if (!row || !kind) return undefined;
  return {
    ino: row.ino,
    kind,
    mode: row.mode,
    size: row.size,
    mtimeMs: row.mtime,
    target: row.target,
    links: row.links,
  };
}
