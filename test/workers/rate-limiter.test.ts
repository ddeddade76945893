import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.useRealTimers();
});

/** A limiter, and what its storage holds. */
function limiter(name: string) {
  const stub = env.LIMITER.getByName(name);
  const takeMany = async (count: number, limit: number): Promise<number> => {
    let allowed = 0;
    for (let i = 0; i < count; i++) if ((await stub.take(limit)).allowed) allowed++;
    return allowed;
  };
  const stored = () => runInDurableObject(stub, (_, { storage }) => storage.get<{ times: Float64Array }>("calls"));
  /** Storing happens behind the answers: waits for it. */
  const storedTimes = (count: number) =>
    vi.waitFor(async () => expect((await stored())?.times).toHaveLength(count), { timeout: 10_000 });
  const hasAlarm = () => runInDurableObject(stub, async (_, { storage }) => (await storage.getAlarm()) !== null);
  return { stub, takeMany, stored, storedTimes, hasAlarm };
}

function later(ms: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(now + ms);
}

// spec: H-14
test("counts on when its object was unloaded in between", async () => {
  const { stub, takeMany, storedTimes } = limiter("ip:calls:unloaded");
  expect(await takeMany(55, 60)).toBe(55);
  await storedTimes(55);
  await evictDurableObject(stub);
  later(14_000);
  expect(await takeMany(62, 60)).toBe(5);
  const refused = await stub.take(60);
  expect(refused.allowed).toBe(false);
  expect(refused.retryAfterMs).toBeLessThanOrEqual(46_000);
  vi.setSystemTime(Date.now() + refused.retryAfterMs);
  expect((await stub.take(60)).allowed).toBe(true);
});

test("stores what is given back as never made", async () => {
  const { stub, takeMany, storedTimes } = limiter("ip:calls:back");
  await takeMany(3, 3);
  await storedTimes(3);
  await stub.giveBack();
  await storedTimes(2);
  await evictDurableObject(stub);
  expect(await takeMany(3, 3)).toBe(1);
});

test("keeps no storage for a client that stays away", async () => {
  const { stub, takeMany, stored, storedTimes, hasAlarm } = limiter("ip:calls:away");
  await takeMany(2, 60);
  await storedTimes(2);
  later(30_000);
  await takeMany(1, 60);
  await storedTimes(3);
  vi.setSystemTime(Date.now() + 31_000);
  // One call still counts: the alarm comes again when it does not.
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect([await hasAlarm(), (await stored())?.times.length]).toEqual([true, 3]);
  vi.setSystemTime(Date.now() + 30_000);
  await evictDurableObject(stub);
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect([await hasAlarm(), await stored()]).toEqual([false, undefined]);
});

test("shuts nobody out for longer than a minute when the clock was set back meanwhile", async () => {
  const { stub, takeMany, storedTimes } = limiter("ip:calls:clock");
  await takeMany(1, 1);
  await storedTimes(1);
  await evictDurableObject(stub);
  later(-3_600_000);
  const refused = await stub.take(1);
  expect(refused).toEqual({ allowed: false, retryAfterMs: 60_000 });
});
