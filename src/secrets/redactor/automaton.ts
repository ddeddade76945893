import type { Form } from "./forms.ts";

const ASCII = 128;

/** Keys are `state * 65536 + code`: exact up to 2^37 states. */
const key = (state: number, code: number): number => state * 65_536 + code;

/**
 * All forms of all secrets as one Aho–Corasick automaton over UTF-16 units: one step per character whatever the number of
 * secrets, and the depth of a state says how much of the text may still become a secret. A class, because closures made
 * anew for each set of secrets are not inlined, and this runs for every character that leaves a run.
 */
export class Automaton {
  readonly #edges = new Map<number, number>();
  /** The first edge of each state beside the map, and those of the first state: most steps need no look-up. */
  readonly #firstCode: number[] = [-1];
  readonly #firstNext: number[] = [0];
  readonly #roots = new Uint32Array(ASCII);
  readonly #fail: number[] = [0];
  readonly #depth: number[] = [0];
  readonly #output: (Form | undefined)[] = [undefined];
  readonly #children: number[][] = [[]];

  constructor(forms: readonly Form[]) {
    for (const form of forms) this.#add(form);
    this.#link();
  }

  /** The state after one more character. */
  step(from: number, code: number): number {
    let state = from;
    while (state !== 0) {
      if (this.#firstCode[state] === code) return this.#firstNext[state] ?? 0;
      if ((this.#children[state]?.length ?? 0) > 1) {
        const next = this.#edges.get(key(state, code));
        if (next !== undefined) return next;
      }
      state = this.#fail[state] ?? 0;
    }
    return this.#root(code);
  }

  /** False for characters no form starts with: the first state stays. */
  starts(code: number): boolean {
    return this.#root(code) !== 0;
  }

  /** How many of the last characters are the beginning of a form. */
  length(state: number): number {
    return this.#depth[state] ?? 0;
  }

  /** How many of them must be held back: of a finished form that nothing continues only what may begin inside it. */
  depth(state: number): number {
    const leaf = state !== 0 && this.#firstCode[state] === -1;
    return this.#depth[leaf ? (this.#fail[state] ?? 0) : state] ?? 0;
  }

  /** The longest form that ends here. */
  output(state: number): Form | undefined {
    return this.#output[state];
  }

  #root(code: number): number {
    return (code < ASCII ? this.#roots[code] : this.#edges.get(code)) ?? 0;
  }

  #add(form: Form): void {
    let state = 0;
    for (let index = 0; index < form.text.length; index += 1) {
      const code = form.text.charCodeAt(index);
      state = this.#edges.get(key(state, code)) ?? this.#grow(state, code);
    }
    this.#output[state] ??= form;
  }

  #grow(state: number, code: number): number {
    const next = this.#depth.push((this.#depth[state] ?? 0) + 1) - 1;
    this.#fail.push(0);
    this.#output.push(undefined);
    this.#children.push([]);
    this.#firstCode.push(-1);
    this.#firstNext.push(0);
    this.#edges.set(key(state, code), next);
    this.#children[state]?.push(code);
    if (state === 0 && code < ASCII) this.#roots[code] = next;
    if (this.#firstCode[state] === -1) {
      this.#firstCode[state] = code;
      this.#firstNext[state] = next;
    }
    return next;
  }

  /** Breadth first: a state falls back to the longest end of its text that begins a form too. */
  #link(): void {
    const queue: number[] = [0];
    for (let index = 0; index < queue.length; index += 1) {
      const state = queue[index] ?? 0;
      for (const code of this.#children[state] ?? []) {
        const child = this.#edges.get(key(state, code)) ?? 0;
        if (state !== 0) this.#fail[child] = this.step(this.#fail[state] ?? 0, code);
        this.#output[child] ??= this.#output[this.#fail[child] ?? 0];
        queue.push(child);
      }
    }
  }
}
