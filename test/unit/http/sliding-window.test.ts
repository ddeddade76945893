import fc from "fast-check";
import { expect, test } from "vitest";
import { createSlidingWindow } from "../../../src/http/sliding-window.ts";

const SPAN = 60_000;
const steps = fc.array(fc.nat({ max: 20_000 }), { minLength: 1, maxLength: 200 });

// spec: H-14
test("lets in the limit and says to the millisecond when the next call fits", () => {
  const window = createSlidingWindow(SPAN);
  expect(window.take(1_000, 2)).toEqual({ allowed: true, retryAfterMs: 0 });
  expect(window.take(5_000, 2)).toEqual({ allowed: true, retryAfterMs: 0 });
  expect(window.take(6_000, 2)).toEqual({ allowed: false, retryAfterMs: 55_000 });
  expect(window.take(60_999, 2)).toEqual({ allowed: false, retryAfterMs: 1 });
  expect(window.take(61_000, 2).allowed).toBe(true);
});

test("never lets in more than the limit in any window", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 12 }), (gaps, limit) => {
      const window = createSlidingWindow(SPAN);
      const allowed: number[] = [];
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        if (window.take(now, limit).allowed) allowed.push(now);
      }
      return allowed.every((end) => allowed.filter((at) => at > end - SPAN && at <= end).length <= limit);
    }),
  );
});

test("lets a refused client in exactly when it said, and not a millisecond before", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 12 }), (gaps, limit) => {
      const window = createSlidingWindow(SPAN);
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        const taken = window.take(now, limit);
        if (taken.allowed) continue;
        expect(taken.retryAfterMs).toBeGreaterThan(0);
        expect(window.take(now + taken.retryAfterMs - 1, limit).allowed).toBe(false);
        expect(window.take(now + taken.retryAfterMs, limit).allowed).toBe(true);
        now += taken.retryAfterMs;
      }
    }),
  );
});

test("counts a call that was given back as never made", () => {
  const window = createSlidingWindow(SPAN);
  for (let i = 0; i < 500; i++) {
    expect(window.take(i, 1).allowed).toBe(true);
    window.giveBack();
  }
  window.giveBack();
  expect(window.take(500, 1).allowed).toBe(true);
  expect(window.take(500, 1).allowed).toBe(false);
});

test("waits for enough calls to leave when the limit was lowered", () => {
  const window = createSlidingWindow(SPAN);
  for (const at of [0, 10, 20]) window.take(at, 3);
  expect(window.take(30, 1)).toEqual({ allowed: false, retryAfterMs: 59_990 });
  expect(window.take(30, 0)).toEqual({ allowed: false, retryAfterMs: SPAN });
});

test("lets nobody in early when the clock is set back", () => {
  const window = createSlidingWindow(SPAN);
  window.take(100_000, 1);
  expect(window.take(50_000, 1)).toEqual({ allowed: false, retryAfterMs: 110_000 });
  expect(window.take(160_000, 1).allowed).toBe(true);
});

test("goes on from the times of an earlier window as that one would have", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 9 }), (gaps, limit, every) => {
      const whole = createSlidingWindow(SPAN);
      let cut = createSlidingWindow(SPAN);
      let now = 0;
      for (const [i, gap] of gaps.entries()) {
        now += gap;
        if (i % every === 0) cut = createSlidingWindow(SPAN, cut.times(now));
        expect(cut.take(now, limit)).toEqual(whole.take(now, limit));
      }
      expect(cut.times(now + SPAN)).toEqual([]);
    }),
  );
});
