/** Keeps the start and the end of a stream of bytes; what lies between is counted and dropped. */
export type HeadTail = {
  push(bytes: Uint8Array): void;
  /** The text, with a note where something was dropped. */
  text(): string;
};

/** At most `limit` bytes stay in memory, half for the start and half for the end. */
export function createHeadTail(limit: number): HeadTail {
  const half = Math.floor(limit / 2);
  const head: Uint8Array[] = [];
  const tail: Uint8Array[] = [];
  let headSize = 0;
  let tailSize = 0;
  let dropped = 0;

  function push(bytes: Uint8Array): void {
    const room = Math.min(half - headSize, bytes.length);
    if (room > 0) {
      head.push(bytes.slice(0, room));
      headSize += room;
    }
    if (room >= bytes.length) return;
    tail.push(bytes.slice(Math.max(0, room)));
    tailSize += bytes.length - Math.max(0, room);
    trimTail();
  }

  function trimTail(): void {
    let gone = 0;
    while (tailSize > half) {
      const first = tail[gone];
      if (first === undefined) break;
      const excess = Math.min(tailSize - half, first.length);
      if (excess === first.length) gone++;
      else tail[gone] = first.slice(excess);
      tailSize -= excess;
      dropped += excess;
    }
    if (gone > 0) tail.splice(0, gone);
  }

  function text(): string {
    // Decoded as one when nothing is missing, so that a character over the seam stays whole.
    if (dropped === 0) return decode([...head, ...tail]);
    return `${decode(head)}\n... ${dropped} bytes left out ...\n${decode(tail)}`;
  }

  return { push, text };
}

function decode(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}
