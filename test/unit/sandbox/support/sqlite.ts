import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { createDurableSandbox, createWorkspaceTables } from "../../../../src/sandbox/virtual/index.ts";
import type { WorkspaceDatabase } from "../../../../src/sandbox/virtual/sql-store.ts";

/** SQLite of Node in the shape of a Durable Object's, as far as the workspace uses it. */
export function openDatabase(): WorkspaceDatabase {
  const db = new DatabaseSync(":memory:");
  const exec = (query: string, ...values: readonly SQLInputValue[]) => {
    if (values.length === 0 && query.includes(";")) {
      db.exec(query);
      return cursor([]);
    }
    return cursor(db.prepare(query).all(...values));
  };
  return {
    sql: { exec: (query, ...values) => exec(query, ...(values as SQLInputValue[])) },
    transaction(work) {
      db.exec("SAVEPOINT work");
      try {
        return work();
      } catch (error) {
        db.exec("ROLLBACK TO work");
        throw error;
      } finally {
        db.exec("RELEASE work");
      }
    },
  };
}

/** Blobs come as `ArrayBuffer` in a Durable Object and as views here. */
function cursor(found: readonly Record<string, unknown>[]) {
  const rows = found.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [key, value instanceof Uint8Array ? value.slice().buffer : value]),
    ),
  );
  return { toArray: () => rows, one: () => rows[0] };
}

/** A database with the tables of a workspace in it. */
export function newWorkspace(): WorkspaceDatabase {
  const database = openDatabase();
  database.transaction(() => createWorkspaceTables(database.sql));
  return database;
}

/** A sandbox over the database: made again for the same one, it is what a restarted object has. */
export function openWorkspace(database: WorkspaceDatabase, limits: { maxBytes?: number; maxNodes?: number } = {}) {
  return createDurableSandbox({ maxBytes: 256 * 1024 * 1024, now: Date.now, ...limits, ...database });
}
