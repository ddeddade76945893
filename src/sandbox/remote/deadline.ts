/** Waits `ms` milliseconds, or less when `signal` aborts; never throws. */
export type Delay = (ms: number, signal: AbortSignal) => Promise<void>;

export const timerDelay: Delay = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** What a race rejects with at the deadline. */
export class DeadlineError extends Error {}

export type Deadline = {
  /** Aborts at the deadline, on the caller's abort, and at `end`: for requests, which may or may not heed it. */
  readonly signal: AbortSignal;
  /** `work`, unless the deadline or the caller's abort comes first; a late answer is dropped. */
  race<T>(work: Promise<T>): Promise<T>;
  end(): void;
};

/** A host-side clock for one call, which holds whatever the other side does (S18). */
export function startDeadline(ms: number, delay: Delay, caller?: AbortSignal): Deadline {
  const ended = new AbortController();
  const stop = new AbortController();
  const onAbort = () => stop.abort(caller?.reason);
  if (caller?.aborted) onAbort();
  caller?.addEventListener("abort", onAbort, { once: true });
  void delay(ms, ended.signal).then(() => {
    if (!ended.signal.aborted) stop.abort(new DeadlineError(`no answer within ${ms} ms`));
  });
  return {
    signal: stop.signal,
    race: (work) => {
      work.catch(() => {});
      return new Promise((resolve, reject) => {
        const lose = () => reject(stop.signal.reason);
        if (stop.signal.aborted) return lose();
        stop.signal.addEventListener("abort", lose, { once: true });
        work.then(resolve, reject).finally(() => stop.signal.removeEventListener("abort", lose));
      });
    },
    end: () => {
      ended.abort();
      caller?.removeEventListener("abort", onAbort);
      if (!stop.signal.aborted) stop.abort(new Error("the call has ended"));
    },
  };
}
