import type { Form } from "./forms.ts";

const ASCII = 128;
/** No edge. */
const NONE = -1;

/**
 * All forms of all secrets as one Aho–Corasick automaton over UTF-16 units: one step per character whatever the number of
 * secrets, and the depth of a state says how much of the text may still become a secret. A class, because closures made
 * anew for each set of secrets are not inlined, and this runs for every character that leaves a run.
 */
export class Automaton {
  /**
   * The tree of all forms, a state a place: the character that leads to it, its first child, its next sibling. Lists of
   * numbers, because one automaton is made for each run, and nearly all states have one child.
   */
  readonly #code: number[] = [NONE];
  readonly #child: number[] = [NONE];
  readonly #sibling: number[] = [NONE];
  /** Children of the first state, which has many, and is asked about every character. */
  readonly #roots = new Uint32Array(ASCII);
  readonly #otherRoots = new Map<number, number>();
  readonly #fail: number[] = [0];
  readonly #depth: number[] = [0];
  readonly #output: (Form | undefined)[] = [undefined];

  constructor(forms: readonly Form[]) {
    for (const form of forms) this.#add(form);
    this.#link();
  }

  /** The state after one more character. */
  step(from: number, code: number): number {
    let state = from;
    while (state !== 0) {
      const next = this.#next(state, code);
      if (next !== NONE) return next;
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
    const leaf = state !== 0 && this.#child[state] === NONE;
    return this.#depth[leaf ? (this.#fail[state] ?? 0) : state] ?? 0;
  }

  /** The longest form that ends here. */
  output(state: number): Form | undefined {
    return this.#output[state];
  }

  #next(state: number, code: number): number {
    let child = this.#child[state] ?? NONE;
    while (child !== NONE && this.#code[child] !== code) child = this.#sibling[child] ?? NONE;
    return child;
  }

  #root(code: number): number {
    return (code < ASCII ? this.#roots[code] : this.#otherRoots.get(code)) ?? 0;
  }

  #add(form: Form): void {
    let state = 0;
    for (let index = 0; index < form.text.length; index += 1) {
      const code = form.text.charCodeAt(index);
      const next = this.#next(state, code);
      state = next === NONE ? this.#grow(state, code) : next;
    }
    this.#output[state] ??= form;
  }

  #grow(state: number, code: number): number {
    const next = this.#code.push(code) - 1;
    this.#sibling.push(this.#child[state] ?? NONE);
    this.#child.push(NONE);
    this.#child[state] = next;
    this.#depth.push((this.#depth[state] ?? 0) + 1);
    this.#fail.push(0);
    this.#output.push(undefined);
    if (state === 0 && code < ASCII) this.#roots[code] = next;
    else if (state === 0) this.#otherRoots.set(code, next);
    return next;
  }

  /** Breadth first: a state falls back to the longest end of its text that begins a form too. */
  #link(): void {
    const queue: number[] = [0];
    for (let index = 0; index < queue.length; index += 1) {
      const state = queue[index] ?? 0;
      for (let child = this.#child[state] ?? NONE; child !== NONE; child = this.#sibling[child] ?? NONE) {
        if (state !== 0) this.#fail[child] = this.step(this.#fail[state] ?? 0, this.#code[child] ?? NONE);
        this.#output[child] ??= this.#output[this.#fail[child] ?? 0];
        queue.push(child);
      }
    }
  }
}
