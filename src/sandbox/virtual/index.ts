import type { Sandbox } from "../../contract/sandbox.ts";
import { type FileStore, WORKSPACE } from "./file-store.ts";
import { FileTree } from "./file-tree.ts";
import { withMadeUpNodes } from "./made-up-nodes.ts";
import { createMemoryStore } from "./memory-store.ts";
import type { SandboxNetwork } from "./network.ts";
import { MAX_FILE_BYTES, MAX_NODES } from "./quota.ts";
import { withRememberedNames } from "./remembered-names.ts";
import { runCommand } from "./run-command.ts";
import { createSqlStore, type WorkspaceDatabase, type WorkspaceSql } from "./sql-store.ts";
import { createWorkspaceFiles } from "./workspace-files.ts";

export type { NetworkInit, SandboxNetwork } from "./network.ts";
export { createWorkspaceTables } from "./sql-store.ts";

export type MemorySandboxOptions = {
  /** Bytes of all files together. */
  readonly maxBytes: number;
  /** Milliseconds since the epoch: the time files get. */
  readonly now: () => number;
  /** Files, directories and links together. */
  readonly maxNodes?: number;
  readonly maxFileBytes?: number;
  /** Where `curl` may go; without it there is no network. */
  readonly network?: SandboxNetwork | undefined;
};

/** Storage of a Durable Object, as far as it is used here. */
export type ObjectStorage = {
  readonly sql: WorkspaceSql;
  transactionSync<T>(closure: () => T): T;
};

export type DurableSandboxOptions = MemorySandboxOptions & WorkspaceDatabase;

/** What a workspace in memory may hold at most: it shares the isolate's 128 MB with everything else. */
const MEMORY_WORKSPACE_MAX_BYTES = 32 * 1024 * 1024;

/**
 * The virtual sandbox of one Durable Object: files in its SQLite, a bash interpreter over them. The tables must
 * have been made with `createWorkspaceTables` before the first use. Make one per object and keep it: it counts the quota
 * and remembers look-ups in memory, so a second one would not see the first one's changes.
 */
export function createDurableSandbox(options: DurableSandboxOptions): Sandbox {
  return createVirtualSandbox(withRememberedNames(createSqlStore(options)), options);
}

/** The same, given a Durable Object's storage as it is. */
export function createObjectSandbox(storage: ObjectStorage, options: MemorySandboxOptions): Sandbox {
  return createDurableSandbox({ ...options, sql: storage.sql, transaction: (work) => storage.transactionSync(work) });
}

/** The same with files in memory, for a stateless run. */
export function createMemorySandbox(options: MemorySandboxOptions): Sandbox {
  const maxBytes = Math.min(options.maxBytes, MEMORY_WORKSPACE_MAX_BYTES);
  return createVirtualSandbox(createMemoryStore(options.now()), { ...options, maxBytes });
}

function createVirtualSandbox(store: FileStore, options: MemorySandboxOptions): Sandbox {
  const { maxBytes, maxNodes = MAX_NODES, maxFileBytes = MAX_FILE_BYTES, now, network } = options;
  let programs: readonly string[] = [];
  const tree = new FileTree(
    withMadeUpNodes(store, () => programs),
    { maxBytes, maxNodes, maxFileBytes },
    now,
  );
  const root = `/${WORKSPACE}`;
  const offer = (names: readonly string[]) => {
    programs = names;
  };
  return {
    backend: "virtual",
    root,
    files: createWorkspaceFiles(tree),
    exec: (request, signal) => runCommand({ tree, root, network, offer }, request, signal),
  };
}
