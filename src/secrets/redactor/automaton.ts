import type { Form } from "./forms.ts";

/**
 * All forms of all secrets as one Aho–Corasick automaton over UTF-16 units: one step per character whatever the number of
 * secrets, and the depth of a state says how much of the text may still become a secret.
 */
export type Automaton = {
  /** The state after one more character. */
  step(state: number, code: number): number;
  /** How many of the last characters are the beginning of a form. */
  depth(state: number): number;
  /** The longest form that ends here. */
  output(state: number): Form | undefined;
  /** False for characters no form starts with: the first state stays. */
  starts(code: number): boolean;
};

/** Keys are `state * 65536 + code`: exact up to 2^37 states. */
const key = (state: number, code: number): number => state * 65_536 + code;

export function createAutomaton(forms: readonly Form[]): Automaton {
  const edges = new Map<number, number>();
  const fail: number[] = [0];
  const depth: number[] = [0];
  const output: (Form | undefined)[] = [undefined];
  const children: number[][] = [[]];
  const first = new Uint8Array(65_536);

  for (const form of forms) {
    let state = 0;
    for (let index = 0; index < form.text.length; index += 1) {
      const code = form.text.charCodeAt(index);
      if (index === 0) first[code] = 1;
      let next = edges.get(key(state, code));
      if (next === undefined) {
        next = depth.push(index + 1) - 1;
        fail.push(0);
        output.push(undefined);
        children.push([]);
        edges.set(key(state, code), next);
        children[state]?.push(code);
      }
      state = next;
    }
    output[state] ??= form;
  }

  const step = (from: number, code: number): number => {
    let state = from;
    for (;;) {
      const next = edges.get(key(state, code));
      if (next !== undefined) return next;
      if (state === 0) return 0;
      state = fail[state] ?? 0;
    }
  };

  const queue: number[] = [0];
  for (let index = 0; index < queue.length; index += 1) {
    const state = queue[index] ?? 0;
    for (const code of children[state] ?? []) {
      const child = edges.get(key(state, code)) ?? 0;
      if (state !== 0) fail[child] = step(fail[state] ?? 0, code);
      output[child] ??= output[fail[child] ?? 0];
      queue.push(child);
    }
  }
  const leaf = children.map((codes) => codes.length === 0);

  return {
    step,
    // A finished form nothing continues is held no longer than what may begin inside it.
    depth: (state) => (leaf[state] === true && state !== 0 ? (depth[fail[state] ?? 0] ?? 0) : (depth[state] ?? 0)),
    output: (state) => output[state],
    starts: (code) => first[code] === 1,
  };
}
