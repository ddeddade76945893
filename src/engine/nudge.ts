/** Lets the host tell a running drive that the log has changed from outside: an answer came in. */
export class Nudge {
  #wake: (() => void) | undefined;
  #pending = false;

  /** The log has changed. */
  give(): void {
    this.#pending = true;
    this.#wake?.();
  }

  /** Calls back once at the next change, or at once when there was one since the last call. */
  onNext(wake: () => void): void {
    this.#wake = wake;
    if (!this.#pending) return;
    this.#pending = false;
    wake();
  }

  /** Takes note of what came. */
  clear(): void {
    this.#pending = false;
  }
}
