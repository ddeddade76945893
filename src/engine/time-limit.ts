import type { EngineDeps } from "./deps.ts";

/** A time limit by the host's clock that rests while it is held: a person who is waited for costs the tool nothing. */
export class TimeLimit {
  /** Resolves when the time is up or `signal` has aborted; never once the limit was stopped. */
  readonly reached: Promise<void>;
  readonly #deps: Pick<EngineDeps, "now" | "delay">;
  readonly #signal: AbortSignal;
  #left: number;
  #holds = 0;
  #since = 0;
  #timer: AbortController | undefined;
  #over: () => void = () => undefined;
  #stopped = false;

  /** `ms`: the limit, running from now on. */
  constructor(ms: number, deps: Pick<EngineDeps, "now" | "delay">, signal: AbortSignal) {
    this.#left = ms;
    this.#deps = deps;
    this.#signal = signal;
    this.reached = new Promise((resolve) => {
      this.#over = resolve;
    });
    this.#run();
  }

  /** Stops the clock until the answer is called. */
  hold(): () => void {
    if (this.#holds++ === 0) this.#rest();
    let released = false;
    return () => {
      if (released) return;
      released = true;
      if (--this.#holds === 0) this.#run();
    };
  }

  /** The limit does not matter any more. */
  stop(): void {
    this.#stopped = true;
    this.#over = () => undefined;
    this.#rest();
    this.#signal.removeEventListener("abort", this.#abort);
  }

  readonly #abort = (): void => this.#over();

  #run(): void {
    if (this.#stopped) return;
    if (this.#signal.aborted) {
      this.#over();
      return;
    }
    const timer = new AbortController();
    this.#timer = timer;
    this.#since = this.#deps.now();
    this.#signal.addEventListener("abort", this.#abort, { once: true });
    void this.#deps.delay(this.#left, AbortSignal.any([this.#signal, timer.signal])).then(() => {
      if (!timer.signal.aborted) this.#over();
    });
  }

  #rest(): void {
    if (!this.#timer || this.#timer.signal.aborted) return;
    this.#timer.abort();
    this.#left = Math.max(0, this.#left - (this.#deps.now() - this.#since));
  }
}
