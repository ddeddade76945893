export type NodeKind = "file" | "directory" | "symlink";

/** One file, directory or link, whatever its names are. */
export type Node = {
  /** Positive for stored nodes, negative for the ones made up on the fly (`/bin`, `/dev`). */
  readonly ino: number;
  readonly kind: NodeKind;
  /** Permission bits. */
  readonly mode: number;
  /** Bytes of content; 0 for directories. */
  readonly size: number;
  readonly mtimeMs: number;
  /** Text of a link; empty for others. */
  readonly target: string;
  /** Names that point at it. */
  readonly links: number;
};

export type Child = { readonly name: string; readonly node: Node };

/** Content is kept in pieces of this many bytes: far below the 1 MB a row may have, small enough that an append rewrites little. */
export const CHUNK_BYTES = 256 * 1024;

/** The first nodes of every store; they can be neither removed nor replaced. */
export const ROOT_INO = 1;
export const LAST_PINNED_INO = 3;
export const WORKSPACE = "workspace";
export const TMP = "tmp";

/**
 * Where nodes, names and content live: synchronous, and shaped like SQL tables, so that one file tree runs over SQLite
 * and over memory. It checks nothing; `FileTree` does.
 */
export type FileStore = {
  /** Runs `change` wholly or not at all; a throw takes everything back and goes on. */
  transaction<T>(change: () => T): T;
  node(ino: number): Node | undefined;
  lookup(parent: number, name: string): Node | undefined;
  /** In no particular order. */
  children(parent: number): readonly Child[];
  isEmpty(parent: number): boolean;
  /** Stores a new node without a name; gives its number. */
  add(fields: Omit<Node, "ino">): number;
  save(node: Node): void;
  /** Forgets a node and its content. */
  drop(ino: number): void;
  /** Gives a node a name; a name that was taken now means this node. */
  link(parent: number, name: string, ino: number): void;
  unlink(parent: number, name: string): void;
  chunk(ino: number, index: number): Uint8Array | undefined;
  putChunk(ino: number, index: number, data: Uint8Array): void;
  /** Drops the pieces from `from` on. */
  dropChunks(ino: number, from: number): void;
  /** Gives `to` the content of `from`. */
  copyChunks(from: number, to: number): void;
  usage(): Usage;
};

/** What the quota counts. */
export type Usage = { readonly bytes: number; readonly nodes: number };

/** Makes the nodes every workspace begins with: `/`, `/workspace`, `/tmp`. */
export function seedStore(store: FileStore, now: number): void {
  const directory = { kind: "directory", mode: 0o755, size: 0, mtimeMs: now, target: "", links: 1 } as const;
  const root = store.add(directory);
  store.link(root, WORKSPACE, store.add(directory));
  store.link(root, TMP, store.add({ ...directory, mode: 0o1777 }));
}
