import { type Child, type FileStore, type Node, seedStore } from "./file-store.ts";

/** A file store in memory, gone with its owner: for stateless runs, and as the model the SQLite store is compared with. */
export function createMemoryStore(now: number = Date.now()): FileStore {
  const nodes = new Map<number, Node>();
  const names = new Map<number, Map<string, number>>();
  const content = new Map<number, Map<number, Uint8Array>>();
  let lastIno = 0;
  /** How to take back the open transaction, newest last; undefined outside of one. */
  let undo: (() => void)[] | undefined;

  /** Sets or deletes one entry of a map and remembers what was there. */
  function change<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
    const before = map.get(key);
    undo?.push(() => (before === undefined ? map.delete(key) : map.set(key, before)));
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }

  function inner<V>(outer: Map<number, Map<V, unknown>>, key: number): Map<V, unknown> {
    const found = outer.get(key) ?? new Map<V, unknown>();
    outer.set(key, found);
    return found;
  }
  const namesOf = (parent: number) => inner(names as Map<number, Map<string, unknown>>, parent) as Map<string, number>;
  const chunksOf = (ino: number) => inner(content as Map<number, Map<number, unknown>>, ino) as Map<number, Uint8Array>;

  const store: FileStore = {
    transaction(work) {
      if (undo) return work();
      const steps: (() => void)[] = [];
      undo = steps;
      try {
        return work();
      } catch (error) {
        for (const step of steps.reverse()) step();
        throw error;
      } finally {
        undo = undefined;
      }
    },
    node: (ino) => nodes.get(ino),
    lookup: (parent, name) => nodes.get(names.get(parent)?.get(name) ?? 0),
    children(parent) {
      return [...(names.get(parent) ?? [])].flatMap(([name, ino]): Child[] => {
        const node = nodes.get(ino);
        return node ? [{ name, node }] : [];
      });
    },
    isEmpty: (parent) => (names.get(parent)?.size ?? 0) === 0,
    add(fields) {
      lastIno++;
      change(nodes, lastIno, { ...fields, ino: lastIno });
      return lastIno;
    },
    save: (node) => change(nodes, node.ino, node),
    drop(ino) {
      change(nodes, ino, undefined);
      change(content, ino, undefined);
      change(names, ino, undefined);
    },
    link: (parent, name, ino) => change(namesOf(parent), name, ino),
    unlink: (parent, name) => change(namesOf(parent), name, undefined),
    chunk: (ino, index) => content.get(ino)?.get(index),
    putChunk: (ino, index, data) => change(chunksOf(ino), index, data.slice()),
    dropChunks(ino, from) {
      const chunks = chunksOf(ino);
      for (const index of [...chunks.keys()]) if (index >= from) change(chunks, index, undefined);
    },
    copyChunks(from, to) {
      for (const [index, data] of content.get(from) ?? []) change(chunksOf(to), index, data);
    },
    usage() {
      let bytes = 0;
      for (const node of nodes.values()) bytes += node.size;
      return { bytes, nodes: nodes.size };
    },
  };
  seedStore(store, now);
  return store;
}
