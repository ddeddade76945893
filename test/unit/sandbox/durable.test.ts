import { expect, it } from "vitest";
import { createWorkspaceTables } from "../../../src/sandbox/virtual/index.ts";
import { describeSandbox } from "./support/contract.ts";
import { bytes, codeOf, read, run } from "./support/shell.ts";
import { newWorkspace, openWorkspace } from "./support/sqlite.ts";

describeSandbox("virtual (SQLite)", async (size) => openWorkspace(newWorkspace(), size), {
  joinsStreamsAtTheEnd: true,
});

it("has the same workspace after a restart, and counts it", async () => {
  // spec: X-2
  const database = newWorkspace();
  const before = openWorkspace(database, { maxBytes: 100 });
  await run(before, "mkdir a; printf kept > a/b; chmod 750 a/b; ln -s a/b link; touch -d 2020-01-02T03:04:05Z a/b");
  const after = openWorkspace(database, { maxBytes: 100 });
  expect(await read(after, "/workspace/link")).toBe("kept");
  expect(await after.files.stat("/workspace/a/b")).toMatchObject({
    value: { mode: 0o750, mtimeMs: Date.UTC(2020, 0, 2, 3, 4, 5) },
  });
  expect(await after.files.list("/workspace")).toEqual(await before.files.list("/workspace"));
  expect(await codeOf(after.files.writeFile("/workspace/c", new Uint8Array(97)))).toBe("no_space");
  expect(await codeOf(after.files.writeFile("/workspace/c", new Uint8Array(96)))).toBe("ok");
});

it("keeps a workspace whose tables are made again", async () => {
  const database = newWorkspace();
  await openWorkspace(database).files.writeFile("/workspace/a", bytes("kept"));
  createWorkspaceTables(database.sql);
  expect(await read(openWorkspace(database), "/workspace/a")).toBe("kept");
});

it("leaves no content behind when files go", async () => {
  // spec: X-2
  const database = newWorkspace();
  const sandbox = openWorkspace(database);
  await run(sandbox, "mkdir -p a/b; seq 1 5000 > a/b/f; cp -r a c; ln a/b/f hard; echo x > c/b/f; mv c/b/f a/g");
  await run(sandbox, "rm -rf a c hard");
  const count = (table: string) => database.sql.exec(`SELECT COUNT(*) AS n FROM ${table}`).one();
  expect(count("workspace_chunks")).toEqual({ n: 0 });
  expect(count("workspace_names")).toEqual({ n: 2 });
  expect(count("workspace_nodes")).toEqual({ n: 3 });
});

it("rewrites only the end of a file it appends to", async () => {
  // spec: X-2
  const database = newWorkspace();
  const sandbox = openWorkspace(database);
  await sandbox.files.writeFile("/workspace/log", new Uint8Array(8 * 1024 * 1024 + 5));
  const written: number[] = [];
  const spied: typeof database.sql = {
    exec(query, ...values) {
      for (const value of values) if (value instanceof Uint8Array) written.push(value.length);
      return database.sql.exec(query, ...values);
    },
  };
  await run(openWorkspace({ ...database, sql: spied }), "echo line >> log");
  expect(written).toEqual([10]);
});
