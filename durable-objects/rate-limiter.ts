import { DurableObject } from "cloudflare:workers";
import { createSlidingWindow, type Taken } from "../src/http/sliding-window.ts";

/** The window of the rate limit (H-14): one minute. */
const SPAN_MS = 60_000;

/**
 * One client's window; the object's name is the client. The times live in memory alone: an object is unloaded after some
 * seconds without a call, and what that forgets only forgives. Being one object per key, it is exact across isolates.
 */
export class RateLimiter extends DurableObject {
  readonly #window = createSlidingWindow(SPAN_MS);

  /** Counts one call against `limit` a minute. */
  take(limit: number): Taken {
    return this.#window.take(Date.now(), limit);
  }

  /** Takes back the newest counted call: it was counted elsewhere. */
  giveBack(): void {
    this.#window.giveBack();
  }
}
