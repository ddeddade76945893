/**
 * Hands out event numbers. Numbers are reserved in blocks ahead of use, and the reserved mark is stored before a number of
 * the block is given, so that a number a client saw just before a crash is never given again (architecture, idea 2).
 */
export class Sequence {
  #next: number;
  #reserved: number;
  readonly #block: number;
  readonly #store: (reserved: number) => void;

  /** `reserved`: the stored mark; everything up to it may have been shown. `store` must be durable before the next event leaves. */
  constructor(reserved: number, block: number, store: (reserved: number) => void) {
    this.#next = reserved + 1;
    this.#reserved = reserved;
    this.#block = block;
    this.#store = store;
  }

  take(): number {
    if (this.#next > this.#reserved) {
      this.#reserved = this.#next + this.#block - 1;
      this.#store(this.#reserved);
    }
    return this.#next++;
  }

  /** The highest number given so far, or that an earlier life may have given. */
  get last(): number {
    return this.#next - 1;
  }

  /** The highest number a client can have seen: a cursor above it was never given. */
  get highest(): number {
    return this.#reserved;
  }

  /** Nothing is in flight: gives the unused rest of the block back, so that numbers stay dense over unloads. */
  settle(): void {
    if (this.#reserved === this.#next - 1) return;
    this.#reserved = this.#next - 1;
    this.#store(this.#reserved);
  }
}
