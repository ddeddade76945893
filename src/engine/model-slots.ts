import type { AgentId, SessionTree } from "./log/tree.ts";

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

  /** undefined: a budget that binds the agent is spent. Throws the signal's reason when it aborts meanwhile. */
  async take(id: AgentId, worstNano: number, signal: AbortSignal): Promise<Release | undefined> {
    while (true) {
      signal.throwIfAborted();
      const caps = this.#tree.caps(id);
      const alone = this.#reservedNano === 0;
      if (alone && caps.some(({ capNano, spentNano }) => spentNano >= capNano)) return undefined;
      const fits =
        alone || caps.every(({ capNano, spentNano }) => spentNano + this.#reservedNano + worstNano <= capNano);
      if (fits && this.#open < this.#max) return this.#hold(worstNano);
      await this.#turn(signal);
    }
  }

  /** Whether a budget binds the agent at all: without one nobody needs to know what a call may cost. */
  capped(id: AgentId): boolean {
    return this.#tree.caps(id).length > 0;
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
