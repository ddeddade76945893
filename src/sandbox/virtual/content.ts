import { CHUNK_BYTES, type FileStore, type Node } from "./file-store.ts";

/** The whole content of a file, in bytes of its own. */
export function readContent(store: FileStore, node: Node): Uint8Array {
  const bytes = new Uint8Array(node.size);
  for (let at = 0, index = 0; at < node.size; index++) {
    const chunk = store.chunk(node.ino, index);
    if (!chunk) break;
    bytes.set(chunk.subarray(0, node.size - at), at);
    at += CHUNK_BYTES;
  }
  return bytes;
}

/** Replaces the content of a file; the caller saves its new size. */
export function writeContent(store: FileStore, ino: number, bytes: Uint8Array): void {
  let index = 0;
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    store.putChunk(ino, index++, bytes.subarray(at, at + CHUNK_BYTES));
  }
  store.dropChunks(ino, index);
}

/** Adds to the end of a file, touching its last piece only; the caller saves its new size. */
export function appendContent(store: FileStore, node: Node, bytes: Uint8Array): void {
  let index = Math.floor(node.size / CHUNK_BYTES);
  const filled = node.size % CHUNK_BYTES;
  let taken = 0;
  if (filled > 0) {
    const before = store.chunk(node.ino, index) ?? new Uint8Array(filled);
    taken = Math.min(bytes.length, CHUNK_BYTES - filled);
    const joined = new Uint8Array(filled + taken);
    joined.set(before.subarray(0, filled));
    joined.set(bytes.subarray(0, taken), filled);
    store.putChunk(node.ino, index++, joined);
  }
  for (let at = taken; at < bytes.length; at += CHUNK_BYTES) {
    store.putChunk(node.ino, index++, bytes.subarray(at, at + CHUNK_BYTES));
  }
}
