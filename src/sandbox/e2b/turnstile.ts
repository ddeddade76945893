/** Lets one waiter through at a time: on what it waits for, or on the first of the wakes that come meanwhile. */
export type Turnstile<W> = {
  /** The value, or the wake that came first. Throws the signal's reason when it aborts, at once. */
  pass<T>(waited: Promise<T>): Promise<{ readonly woken: W } | { readonly value: T }>;
  wake(reason: W): void;
  close(): void;
};

/**
 * `Promise.race` in a loop against one long-lived promise keeps a reaction for every turn until that promise settles: a
 * command with a million pieces of output would hold a million. Here a turn leaves nothing behind.
 */
export function createTurnstile<W>(signal: AbortSignal): Turnstile<W> {
  const missed: W[] = [];
  let waiter: { resolve(turn: { woken: W }): void; reject(reason: unknown): void } | undefined;
  /** The waiter, who waits no more: whoever calls this settles it, so that nothing that comes right after is lost. */
  const release = (): typeof waiter => {
    const mine = waiter;
    waiter = undefined;
    return mine;
  };
  const abort = (): void => release()?.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return {
    async pass<T>(waited: Promise<T>) {
      // Nobody listens any more once a wake came first: a late failure must not count as unhandled.
      waited.catch(() => undefined);
      signal.throwIfAborted();
      const woken = missed.shift();
      if (woken !== undefined) return { woken };
      return new Promise<{ woken: W } | { value: T }>((resolve, reject) => {
        const mine = { resolve, reject };
        waiter = mine;
        const settle = (done: () => void): void => {
          if (waiter === mine) release();
          done();
        };
        waited.then(
          (value) => settle(() => resolve({ value })),
          (error: unknown) => settle(() => reject(error)),
        );
      });
    },
    wake(reason) {
      const waiting = release();
      if (waiting) waiting.resolve({ woken: reason });
      else missed.push(reason);
    },
    close() {
      signal.removeEventListener("abort", abort);
    },
  };
}
