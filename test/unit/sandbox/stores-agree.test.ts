import fc from "fast-check";
import { expect, it } from "vitest";
import { fileError } from "../../../src/sandbox/virtual/fault.ts";
import { FileTree } from "../../../src/sandbox/virtual/file-tree.ts";
import { createMemoryStore } from "../../../src/sandbox/virtual/memory-store.ts";
import { withRememberedNames } from "../../../src/sandbox/virtual/remembered-names.ts";
import { createSqlStore } from "../../../src/sandbox/virtual/sql-store.ts";
import { newWorkspace } from "./support/sqlite.ts";

const LIMITS = { maxBytes: 700_000, maxNodes: 14, maxFileBytes: 600_000 };
const NOW = 1_800_000_000_000;

const path = fc
  .array(fc.constantFrom("a", "b", "c", "..", "."), { minLength: 1, maxLength: 3 })
  .map((parts) => `/workspace/${parts.join("/")}`);
const target = fc.constantFrom("a", "../b", "/workspace/c", "b/c", "gone", "/workspace");
/** Around the size of the pieces content is kept in. */
const content = fc
  .record({
    size: fc.constantFrom(0, 1, 7, 1000, 262_143, 262_144, 262_145, 530_000),
    fill: fc.integer({ min: 1, max: 255 }),
  })
  .map(({ size, fill }) => new Uint8Array(size).fill(fill));

type Step = { readonly name: string; readonly run: (tree: FileTree) => unknown };

const one = (name: string, run: (tree: FileTree, path: string) => unknown) =>
  path.map((at): Step => ({ name: `${name} ${at}`, run: (tree) => run(tree, at) }));
const two = (name: string, run: (tree: FileTree, from: string, to: string) => unknown) =>
  fc.tuple(path, path).map(([from, to]): Step => ({ name: `${name} ${from} ${to}`, run: (t) => run(t, from, to) }));
const put = (name: string, run: (tree: FileTree, at: string, bytes: Uint8Array) => unknown) =>
  fc
    .tuple(path, content)
    .map(([at, bytes]): Step => ({ name: `${name} ${at} ${bytes.length}`, run: (tree) => run(tree, at, bytes) }));

const step: fc.Arbitrary<Step> = fc.oneof(
  put("write", (tree, at, bytes) => tree.write(at, bytes)),
  put("writeWithParents", (tree, at, bytes) => tree.writeWithParents(at, bytes)),
  put("append", (tree, at, bytes) => tree.append(at, bytes)),
  one("mkdir", (tree, at) => tree.mkdir(at)),
  one("mkdirs", (tree, at) => tree.mkdirs(at)),
  one("rm", (tree, at) => tree.remove(at, false)),
  one("rm -r", (tree, at) => tree.remove(at, true)),
  one("chmod", (tree, at) => tree.chmod(at, 0o640)),
  one("utimes", (tree, at) => tree.utimes(at, 1_000)),
  one("realpath", (tree, at) => tree.nearestRealPath(at)),
  two("cp", (tree, from, to) => tree.copy(from, to, false)),
  two("cp -r", (tree, from, to) => tree.copy(from, to, true)),
  two("mv", (tree, from, to) => tree.move(from, to)),
  two("ln", (tree, from, to) => tree.link(from, to)),
  fc.tuple(target, path).map(([to, at]): Step => ({ name: `ln -s ${to} ${at}`, run: (t) => t.symlink(to, at) })),
);

/** What an operation gives or the code it fails with; anything that is no file fault is a bug. */
function outcome(tree: FileTree, { run }: Step): unknown {
  try {
    return run(tree);
  } catch (error) {
    const { code } = fileError(error, "");
    if (code === "unavailable") throw error;
    return code;
  }
}

/** The whole tree as text; content by its length and the changes in it. */
function picture(tree: FileTree): string[] {
  return [...tree.walk("/")].map(({ path: at, node }) => {
    const { kind, mode, size, mtimeMs, target: text, links } = node;
    const bytes = kind === "file" ? tree.read(at) : new Uint8Array();
    const runs: string[] = [];
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== bytes[i - 1]) runs.push(`${i}:${bytes[i]}`);
    return [at, kind, mode, size, mtimeMs, text, links, runs].join(" ");
  });
}

/** What can be reached from `/`, and `/` itself: what a store must say that it holds. */
function reachable(tree: FileTree): { bytes: number; nodes: number } {
  const nodes = new Map([...tree.walk("/")].map(({ node }) => [node.ino, node.size]));
  return { bytes: [...nodes.values()].reduce((sum, size) => sum + size, 0), nodes: nodes.size + 1 };
}

it("does the same over SQLite and in memory, whatever is done and fails", () => {
  // spec: X-2
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      const database = newWorkspace();
      const sql = withRememberedNames(createSqlStore(database));
      const memory = createMemoryStore(NOW);
      const overSql = new FileTree(sql, LIMITS, () => NOW);
      const overMemory = new FileTree(memory, LIMITS, () => NOW);
      for (const top of ["/tmp", "/workspace"]) overSql.utimes(top, NOW);
      for (const each of steps) {
        const before = picture(overSql);
        const result = outcome(overSql, each);
        expect(outcome(overMemory, each), each.name).toEqual(result);
        const after = picture(overSql);
        expect(picture(overMemory), each.name).toEqual(after);
        if (typeof result === "string" && !result.startsWith("/")) expect(after, each.name).toEqual(before);
      }
      expect(sql.usage()).toEqual(reachable(overSql));
      expect(memory.usage()).toEqual(sql.usage());
      // A restart: a new tree over the same rows.
      expect(picture(new FileTree(createSqlStore(database), LIMITS, () => NOW))).toEqual(picture(overSql));
    }),
    { numRuns: 300 },
  );
}, 60_000);
