import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createWorkClock } from "../../../src/sandbox/virtual/work-clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// spec: X-2
test("tells when a command has worked for longer than it may", async () => {
  const spent = vi.fn();
  const clock = createWorkClock(1_000, spent);
  /** Holds the thread: no turn comes before the last round. */
  const hold = async (ms: number) => {
    const round = clock.round();
    vi.setSystemTime(Date.now() + ms);
    await vi.advanceTimersByTimeAsync(0);
    await round;
  };
  await hold(600);
  expect(spent).not.toHaveBeenCalled();
  vi.setSystemTime(Date.now() + 10_000);
  await hold(400);
  expect(spent).not.toHaveBeenCalled();
  await hold(1);
  expect(spent).toHaveBeenCalledTimes(1);
});

test("does not count what a command waits", async () => {
  const spent = vi.fn();
  const clock = createWorkClock(1_000, spent);
  for (let i = 0; i < 50; i++) {
    await clock.round();
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(spent).not.toHaveBeenCalled();
});

test("gives other work a turn after some rounds", async () => {
  const clock = createWorkClock(1_000, () => {});
  let waits = false;
  for (let i = 0; i < 63; i++) await clock.round();
  const round = clock.round().then(() => {
    waits = false;
  });
  waits = true;
  await Promise.resolve();
  expect(waits).toBe(true);
  await vi.advanceTimersByTimeAsync(0);
  await round;
  expect(waits).toBe(false);
});
