/** Rounds of loops between two looks at the clock at first, and at most. */
const FIRST_ROUNDS = 64;
const MAX_ROUNDS = 4_096;
/** How long the thread is held between two turns, milliseconds: others wait so long, and a turn is not free. */
const SLICE_MS = { least: 10, most: 40 } as const;

export type WorkClock = {
  /** Called in each round of a loop; now and then gives other work of the thread a turn. */
  round(): Promise<void>;
};

/**
 * Measures how long a command works, waiting left out, and calls `spent` once it is more than `limitMs`. The interpreter
 * runs on microtasks, and Workers' clocks stand still meanwhile: only a turn of the event loop shows how late it is, and
 * lets deadlines and cancellations come through.
 */
export function createWorkClock(limitMs: number, spent: () => void): WorkClock {
  let worked = 0;
  let rounds = 0;
  let every = FIRST_ROUNDS;
  /** Under way since the last turn; resolves with the next, which also comes when the command waits by itself. */
  let slice: Promise<void> | undefined;

  function begin(): Promise<void> {
    const from = Date.now();
    return new Promise((resume) => {
      setTimeout(() => {
        const took = Date.now() - from;
        worked += took;
        slice = undefined;
        if (took < SLICE_MS.least) every = Math.min(every * 2, MAX_ROUNDS);
        else if (took > SLICE_MS.most) every = Math.max(Math.floor(every / 2), 1);
        if (worked > limitMs) spent();
        resume();
      }, 0);
    });
  }

  return {
    async round() {
      slice ??= begin();
      if (++rounds < every) return;
      rounds = 0;
      await slice;
    },
  };
}
