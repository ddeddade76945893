import type { FileStore, Node } from "./file-store.ts";

/** Look-ups that are remembered at a time; each is a few dozen bytes. */
const MAX_REMEMBERED = 20_000;

/**
 * Remembers look-ups until the next change: a shell asks for the same few paths many times per command, and each part of
 * a path is a query. Holds only while nobody else writes to the store.
 */
export function withRememberedNames(store: FileStore): FileStore {
  const remembered = new Map<string, Node | undefined>();
  const forgetAfter =
    <A extends unknown[], R>(change: (...args: A) => R) =>
    (...args: A): R => {
      remembered.clear();
      return change(...args);
    };
  return {
    ...store,
    transaction(work) {
      try {
        return store.transaction(work);
      } catch (error) {
        // What was looked up since the last change of a transaction that was taken back is not true any more.
        remembered.clear();
        throw error;
      }
    },
    lookup(parent, name) {
      const key = `${parent}/${name}`;
      const known = remembered.get(key);
      if (known !== undefined || remembered.has(key)) return known;
      const node = store.lookup(parent, name);
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(key, node);
      return node;
    },
    add: forgetAfter(store.add),
    save: forgetAfter(store.save),
    drop: forgetAfter(store.drop),
    link: forgetAfter(store.link),
    unlink: forgetAfter(store.unlink),
  };
}
