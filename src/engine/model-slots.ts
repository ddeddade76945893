import type { SessionTree } from "./log/tree.ts";

/** Gives back what a model call had taken. */
export type Release = () => void;

/**
 * Lets a model call begin when there is a connection for it and the run can pay for it (T-6, decisions: limit concurrent
 * model calls, not sub-agents). A call holds its worst price until it ends, so that calls side by side cannot pass the cap
 * together; only one that finds the cap unreached and nobody else at work may go over it, by its own price.
 */
export class ModelSlots {
  readonly #tree: SessionTree;
  readonly #max: number;
  #open = 0;
  #reservedNano = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(tree: SessionTree, max: number) {
    this.#tree = tree;
    this.#max = max;
  }

  /** undefined: the budget is spent. Throws the signal's reason when it aborts meanwhile. */
  async take(worstNano: number, signal: AbortSignal): Promise<Release | undefined> {
    while (true) {
      signal.throwIfAborted();
      const cap = this.#capNano();
      const spent = this.#tree.spend.costNano;
      if (spent >= cap && this.#reservedNano === 0) return undefined;
      const fits = spent + this.#reservedNano + worstNano <= cap || (this.#reservedNano === 0 && spent < cap);
      if (fits && this.#open < this.#max) return this.#hold(worstNano);
      await this.#turn(signal);
    }
  }

  /** Whether the run has a budget at all: without one nobody needs to know what a call may cost. */
  get capped(): boolean {
    return this.#tree.root.run?.config.max_cost_usd !== undefined;
  }

  #capNano(): number {
    const budget = this.#tree.root.run?.config.max_cost_usd;
    return budget === undefined ? Number.POSITIVE_INFINITY : budget * 1e9;
  }

  #hold(worstNano: number): Release {
    this.#open++;
    this.#reservedNano += worstNano;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#open--;
      this.#reservedNano -= worstNano;
      for (const wake of this.#waiting.splice(0)) wake();
    };
  }

  /** Resolves when something was given back, or the signal aborts. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        resolve();
      };
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.push(done);
    });
  }
}
