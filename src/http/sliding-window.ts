/** The answer to one call; `retryAfterMs` is 0 when it was allowed, else exact and above 0. */
export type Taken = { readonly allowed: boolean; readonly retryAfterMs: number };

export type SlidingWindow = {
  /** Counts a call at `now` (milliseconds) unless `limit` calls stand in the window already. */
  take(now: number, limit: number): Taken;
  /** Takes back the newest counted call. */
  giveBack(): void;
  /** Times of the calls that still count at `now`, ascending: what `createSlidingWindow` goes on from. */
  times(now: number): readonly number[];
};

/**
 * An exact sliding window (H-14): in no half-open stretch of `spanMs` are there more than `limit` calls. Refused calls are
 * not counted, so it holds at most `limit` times and a client that waits `retryAfterMs` is let in. `earlier` are the times
 * an earlier window held, ascending.
 */
export function createSlidingWindow(spanMs: number, earlier: readonly number[] = []): SlidingWindow {
  /** Times of counted calls, ascending. Those before `head` have left the window. */
  let times = [...earlier];
  let head = 0;
  let latest = times.at(-1) ?? Number.NEGATIVE_INFINITY;

  function forget(now: number): void {
    for (let oldest = times[head]; oldest !== undefined && oldest <= now - spanMs; oldest = times[head]) head++;
    // Cut rarely: one copy per so many calls keeps a call's cost constant.
    if (head > 64 && head * 2 > times.length) {
      times = times.slice(head);
      head = 0;
    }
  }

  return {
    take(clock, limit) {
      // A clock set back must not let anybody in early, nor break the order of the times.
      const now = Math.max(clock, latest);
      latest = now;
      forget(now);
      const count = times.length - head;
      if (count < limit) {
        times.push(now);
        return { allowed: true, retryAfterMs: 0 };
      }
      // So many must leave that one more fits; more than one when the limit was lowered meanwhile.
      const last = limit > 0 ? times[times.length - limit] : undefined;
      return { allowed: false, retryAfterMs: last === undefined ? spanMs : last + spanMs - clock };
    },
    giveBack() {
      if (times.length > head) times.pop();
    },
    times(now) {
      forget(now);
      return times.slice(head);
    },
  };
}
