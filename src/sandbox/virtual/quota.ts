import { fault } from "./fault.ts";
import type { FileStore, Usage } from "./file-store.ts";

/** What a workspace may hold. */
export type WorkspaceLimits = {
  /** Bytes of all files together. */
  readonly maxBytes: number;
  /** Files, directories and links together. */
  readonly maxNodes: number;
  /** Bytes of one file: it passes through memory whole, and an isolate has 128 MB for all its sessions. */
  readonly maxFileBytes: number;
};

export const MAX_NODES = 100_000;
export const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** Counts what a store holds. Asks the store once, then keeps count; `forget` after a change that was taken back. */
export type Quota = {
  /** Makes room, or throws; `path` is for the message. */
  take(bytes: number, nodes: number, path: string): void;
  give(bytes: number, nodes: number): void;
  checkFile(bytes: number, path: string): void;
  forget(): void;
};

/** One store must have one quota: the count is kept in memory. */
export function createQuota(store: FileStore, limits: WorkspaceLimits): Quota {
  let usage: Usage | undefined;
  return {
    take(bytes, nodes, path) {
      usage ??= store.usage();
      const next = { bytes: usage.bytes + bytes, nodes: usage.nodes + nodes };
      if (bytes > 0 && next.bytes > limits.maxBytes) {
        throw fault("no_space", path, `no space left: the workspace holds at most ${limits.maxBytes} bytes`);
      }
      if (nodes > 0 && next.nodes > limits.maxNodes) {
        throw fault("no_space", path, `no space left: the workspace holds at most ${limits.maxNodes} files`);
      }
      usage = next;
    },
    give(bytes, nodes) {
      if (usage) usage = { bytes: usage.bytes - bytes, nodes: usage.nodes - nodes };
    },
    checkFile(bytes, path) {
      if (bytes > limits.maxFileBytes) {
        throw fault("too_large", path, `file too large: at most ${limits.maxFileBytes} bytes`);
      }
    },
    forget() {
      usage = undefined;
    },
  };
}
