import { z } from "zod";

const KEY = "calls";
/** More calls than one object can answer in a minute; a value may be 2 MB, a time takes 8 bytes. */
const MAX_TIMES = 100_000;

/** Times of calls as they are stored: milliseconds since the epoch, ascending. */
const StoredCalls = z.object({ version: z.literal(1), times: z.instanceof(Float64Array) });

/** The part of an object's storage that is used here. */
export type CallStorage = {
  readonly kv: { get(key: string): unknown };
  put(key: string, value: unknown, options: { allowUnconfirmed: boolean }): Promise<void>;
};

/**
 * The times a window held before its object was unloaded. What cannot be read counts as nothing, which forgives at most
 * one window; none lies after `now`, so that a clock set back shuts nobody out for longer than one.
 */
export function readCalls(storage: CallStorage, now: number): readonly number[] {
  const stored = StoredCalls.safeParse(storage.kv.get(KEY));
  return stored.success ? Array.from(stored.data.times, (at) => Math.min(at, now)) : [];
}

/** Stores them. Answers do not wait for the disk: what a crash forgets only forgives. */
export function writeCalls(storage: CallStorage, times: readonly number[]): Promise<void> {
  const value: z.infer<typeof StoredCalls> = { version: 1, times: Float64Array.from(times.slice(-MAX_TIMES)) };
  return storage.put(KEY, value, { allowUnconfirmed: true });
}
