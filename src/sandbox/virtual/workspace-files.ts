import { err, ok } from "../../contract/result.ts";
import type { FileAnswer, FileStat, SandboxFiles } from "../../contract/sandbox.ts";
import { fileError } from "./fault.ts";
import type { Node } from "./file-store.ts";
import type { FileTree } from "./file-tree.ts";

/** The contract's files over a file tree. */
export function createWorkspaceFiles(tree: FileTree): SandboxFiles {
  return {
    readFile: async (path) => attempt(path, () => tree.read(path)),
    writeFile: async (path, content) => attempt(path, () => tree.writeWithParents(path, content)),
    stat: async (path) => attempt(path, () => toStat(path, tree.stat(path))),
    lstat: async (path) => attempt(path, () => toStat(path, tree.lstat(path))),
    list: async (path) =>
      attempt(path, () => tree.list(path).map(({ name, node }) => toStat(`${path.replace(/\/+$/, "")}/${name}`, node))),
    async *walk(path, limit) {
      try {
        let count = 0;
        for (const entry of tree.walk(path)) {
          if (count++ >= limit) return;
          yield toStat(entry.path, entry.node);
        }
      } catch (error) {
        // A directory that is missing, or went away meanwhile, has nothing below it; a broken store is a bug.
        if (fileError(error, path).code === "unavailable") throw error;
      }
    },
    remove: async (path, { recursive }) => attempt(path, () => tree.remove(path, recursive)),
    mkdir: async (path) => attempt(path, () => tree.mkdirs(path)),
    realPath: async (path) => attempt(path, () => tree.nearestRealPath(path)),
  };
}

function attempt<T>(path: string, work: () => T): FileAnswer<T> {
  try {
    return ok(work());
  } catch (error) {
    return err(fileError(error, path));
  }
}

function toStat(path: string, node: Node): FileStat {
  const size = node.kind === "symlink" ? node.target.length : node.size;
  return { path, kind: node.kind, size, mode: node.mode, mtimeMs: node.mtimeMs };
}
