import { DurableObject } from "cloudflare:workers";
import { createSlidingWindow, type SlidingWindow, type Taken } from "../src/http/sliding-window.ts";
import { readCalls, writeCalls } from "./stored-calls.ts";

/** The window of the rate limit (H-14): one minute. */
const SPAN_MS = 60_000;
/** So long after a change it is stored, with all that came meanwhile; a crash forgets as much. */
const STORE_AFTER_MS = 1_000;

/**
 * One client's window; the object's name is the client. Being one object per key, it is exact across isolates. An object
 * is unloaded after some seconds without a call, so the times are in its storage too, written behind the answers. An alarm
 * frees the storage of a client that stays away.
 */
export class RateLimiter extends DurableObject<unknown> {
  readonly #window: SlidingWindow;
  #stored: boolean;
  #due: ReturnType<typeof setTimeout> | undefined;

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    const times = readCalls(ctx.storage, Date.now());
    this.#window = createSlidingWindow(SPAN_MS, times);
    this.#stored = times.length > 0;
  }

  /** Counts one call against `limit` a minute. */
  take(limit: number): Taken {
    const taken = this.#window.take(Date.now(), limit);
    if (taken.allowed) this.#changed();
    return taken;
  }

  /** Takes back the newest counted call: it was counted elsewhere. */
  giveBack(): void {
    this.#window.giveBack();
    this.#changed();
  }

  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    const newest = this.#window.times(Date.now()).at(-1);
    if (newest !== undefined) return await storage.setAlarm(newest + SPAN_MS);
    this.#stored = false;
    await storage.deleteAll();
  }

  #changed(): void {
    this.#due ??= setTimeout(() => {
      this.#due = undefined;
      this.#store().catch((error: unknown) => {
        // The window in memory is whole; the next change stores it.
        console.error(JSON.stringify({ message: "rate limit was not stored", error: String(error) }));
      });
    }, STORE_AFTER_MS);
  }

  async #store(): Promise<void> {
    const { storage } = this.ctx;
    const times = this.#window.times(Date.now());
    // A client whose calls are all counted elsewhere (its tenant's) costs no write.
    if (times.length === 0 && !this.#stored) return;
    this.#stored = true;
    await writeCalls(storage, times);
    if ((await storage.getAlarm()) === null) {
      await storage.setAlarm(Date.now() + SPAN_MS, { allowUnconfirmed: true });
    }
  }
}
