/**
 * Finds stop sequences in streamed text. The engine does so itself besides sending them, because some providers ignore
 * them and most do not tell a hit from a normal end. Text that may be the beginning of a sequence is held back.
 */
export class StopMatcher {
  readonly #sequences: readonly string[];
  #held = "";

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((s) => s.length > 0);
  }

  get active(): boolean {
    return this.#sequences.length > 0;
  }

  /** Takes the next piece; gives what may be shown, and the sequence that was hit, if one was. After a hit the rest is dropped. */
  push(piece: string): { readonly text: string; readonly hit: string | undefined } {
    if (!this.active) return { text: piece, hit: undefined };
    const text = this.#held + piece;
    const found = firstHit(text, this.#sequences);
    if (found) {
      this.#held = "";
      return { text: text.slice(0, found.at), hit: found.sequence };
    }
    const keep = longestPrefixAtEnd(text, this.#sequences);
    this.#held = keep > 0 ? text.slice(-keep) : "";
    return { text: keep > 0 ? text.slice(0, -keep) : text, hit: undefined };
  }

  /** The block ended: what was held back is text after all. */
  flush(): string {
    const text = this.#held;
    this.#held = "";
    return text;
  }
}

function firstHit(text: string, sequences: readonly string[]): { at: number; sequence: string } | undefined {
  let best: { at: number; sequence: string } | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at >= 0 && (!best || at < best.at)) best = { at, sequence };
  }
  return best;
}

/** How many characters at the end of `text` could begin a sequence. */
function longestPrefixAtEnd(text: string, sequences: readonly string[]): number {
  let longest = 0;
  for (const sequence of sequences) {
    for (let n = Math.min(sequence.length - 1, text.length); n > longest; n--) {
      if (text.endsWith(sequence.slice(0, n))) {
        longest = n;
        break;
      }
    }
  }
  return longest;
}
