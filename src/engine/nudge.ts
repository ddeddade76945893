/** Lets the host tell a running drive that the log has changed from outside: an answer came in. */
export class Nudge {
  #wake: (() => void) | undefined;
  #pending = false;
  readonly #watchers = new Set<() => void>();

  /** The log has changed. */
  give(): void {
    this.#pending = true;
    this.#wake?.();
    for (const watcher of this.#watchers) watcher();
  }

  /** Calls back at every change until the answer is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
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
