import type { Clock, StreamLimits } from "./settings.ts";

/** Why the guard ended a stream. */
export type Expiry = { readonly kind: "first_event" | "idle" | "total" | "tail"; readonly ms: number };

/** After the stop reason only trailing figures can come; a server that holds the socket open must not hold the turn. */
const TAIL_MS = 3_000;

/**
 * Watches one answer: first event, gaps between events with payload, the whole (provider-protocols 1.1). One timer that looks
 * at the deadline when it fires, so that a frame costs an assignment and no timer call.
 */
export class StreamGuard {
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #endAt: number;
  #deadline: number;
  #kind: Expiry["kind"] = "first_event";
  #cancelTimer: () => void = () => {};
  #stopped: { readonly error: unknown } | undefined;
  #waiter: ((error: unknown) => void) | undefined;

  /** `endAt`: when the whole call, tries included, must be over. */
  constructor(clock: Clock, limits: StreamLimits, endAt: number) {
    this.#clock = clock;
    this.#limits = limits;
    this.#endAt = endAt;
    this.#deadline = clock.now() + limits.firstEventMs;
    // The first event shortens the wait: a timer that looks early need not be set anew then.
    this.#arm(Math.min(limits.firstEventMs, limits.idleMs));
  }

  /** An event with payload came. */
  alive(kind: "idle" | "tail" = "idle"): void {
    this.#kind = kind;
    this.#deadline = this.#clock.now() + (kind === "tail" ? this.#tail() : this.#limits.idleMs);
    // A timer armed for a later moment than the new deadline would fire too late.
    if (this.#deadline < this.#armedFor) this.#arm();
  }

  /** The stop reason is known. */
  tail(): void {
    this.alive("tail");
  }

  /** The promise, or a rejection as soon as the guard expires or `stop` is called. */
  race<T>(promise: Promise<T>): Promise<T> {
    if (this.#stopped) return Promise.reject(this.#stopped.error);
    return new Promise<T>((resolve, reject) => {
      this.#waiter = reject;
      promise.then(resolve, reject);
    });
  }

  stop(error: unknown): void {
    if (this.#stopped) return;
    this.#stopped = { error };
    this.#cancelTimer();
    this.#waiter?.(error);
  }

  close(): void {
    this.#cancelTimer();
    this.#waiter = undefined;
  }

  #armedFor = 0;

  #tail(): number {
    return Math.min(TAIL_MS, this.#limits.idleMs);
  }

  #arm(atMost = Number.POSITIVE_INFINITY): void {
    this.#cancelTimer();
    this.#armedFor = Math.min(this.#deadline, this.#endAt, this.#clock.now() + atMost);
    this.#cancelTimer = this.#clock.timer(Math.max(0, this.#armedFor - this.#clock.now()), () => this.#check());
  }

  #check(): void {
    const now = this.#clock.now();
    if (now >= this.#endAt) this.stop(new GuardExpired({ kind: "total", ms: this.#limits.totalMs }));
    else if (now >= this.#deadline) this.stop(new GuardExpired({ kind: this.#kind, ms: this.#deadlineMs() }));
    else this.#arm();
  }

  #deadlineMs(): number {
    if (this.#kind === "first_event") return this.#limits.firstEventMs;
    return this.#kind === "tail" ? this.#tail() : this.#limits.idleMs;
  }
}

export class GuardExpired extends Error {
  override readonly name = "GuardExpired";
  readonly expiry: Expiry;
  constructor(expiry: Expiry) {
    super(EXPIRY_TEXT[expiry.kind](expiry.ms));
    this.expiry = expiry;
  }
}

const EXPIRY_TEXT: Readonly<Record<Expiry["kind"], (ms: number) => string>> = {
  first_event: (ms) => `no event came within ${ms / 1000} s`,
  idle: (ms) => `the stream stalled: no event for ${ms / 1000} s`,
  total: (ms) => `the answer took longer than ${ms / 1000} s`,
  tail: (ms) => `the stream did not end within ${ms / 1000} s of its stop reason`,
};
