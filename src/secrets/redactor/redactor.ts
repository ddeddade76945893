import type { Redactor, StreamRedactor } from "../../contract/redaction.ts";
import { Automaton } from "./automaton.ts";
import { type Form, formsOf } from "./forms.ts";
import { redactValue } from "./redact-value.ts";
import { beginsBreak, createWrappedReader } from "./wrapped.ts";

const MIN_BYTES = 8;
const encoder = new TextEncoder();

/** Says why a secret cannot be registered; undefined when it can. The value is never part of the text. spec: S-5 */
export function secretProblem(name: string, value: string): string | undefined {
  const bytes = encoder.encode(value).length;
  return bytes >= MIN_BYTES
    ? undefined
    : `secret ${JSON.stringify(name)} value too short (min ${MIN_BYTES} bytes): got ${bytes}`;
}

/** A redactor for a set of secrets; throws a RangeError with the text of `secretProblem` for one that is too short. */
export function createRedactor(secrets: Readonly<Record<string, string>>): Redactor {
  const entries = Object.entries(secrets);
  for (const [name, value] of entries) {
    const problem = secretProblem(name, value);
    if (problem !== undefined) throw new RangeError(problem);
  }
  if (entries.length === 0) return IDENTITY;
  const forms = entries.flatMap(([name, value]) => formsOf(name, value));
  const automaton = new Automaton(forms);
  const wrapping = new Automaton(forms.filter((form) => form.wraps));
  const shortest = Math.min(...forms.map((form) => form.text.length));
  const redact = (text: string): string => {
    if (text.length < shortest || isClean(text, automaton)) return text;
    const stream = createStream(automaton, wrapping);
    return stream.push(text) + stream.flush();
  };
  return {
    active: true,
    redact,
    // The shape stays; only strings (and numbers that are secrets) change.
    redactJson: <T>(value: T): T => redactValue(value, redact) as T,
    createStream: () => createStream(automaton, wrapping),
  };
}

const IDENTITY: Redactor = {
  active: false,
  redact: (text) => text,
  redactJson: (value) => value,
  createStream: () => ({ push: (chunk) => chunk, flush: () => "" }),
};

/** Whether a whole text surely holds no form: most texts do not, and finding that out makes nothing. */
function isClean(text: string, automaton: Automaton): boolean {
  let state = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    // A form may go on behind the break.
    if (state !== 0 && beginsBreak(code)) return false;
    state = automaton.step(state, code);
    if (automaton.output(state) !== undefined) return false;
  }
  return true;
}

type Found = { readonly start: number; readonly end: number; readonly name: string };

/**
 * Everything before `length - depth` is settled: no form that is not known yet can start there. Of forms with the same
 * start the longest wins; one that begins inside another only lengthens what is hidden.
 */
function createStream(automaton: Automaton, wrapping: Automaton): StreamRedactor {
  const wrapped = createWrappedReader(wrapping);
  let held = "";
  let offset = 0;
  let state = 0;
  let covered = 0;
  let found: Found[] = [];

  const settle = (limit: number): string => {
    let result = "";
    let at = offset;
    const plainTo = (end: number) => {
      const from = Math.max(at, covered);
      if (end > from) result += held.slice(from - offset, end - offset);
      at = Math.max(at, end);
    };
    if (found.length > 0) {
      const ready = found
        .filter((match) => match.start < limit)
        .sort((left, right) => left.start - right.start || right.end - left.end);
      found = found.filter((match) => match.start >= limit);
      for (const match of ready) {
        if (match.start >= covered) {
          plainTo(match.start);
          result += `[SECRET:${match.name}]`;
        }
        covered = Math.max(covered, match.end);
      }
    }
    plainTo(limit);
    held = held.slice(limit - offset);
    offset = limit;
    return result;
  };

  const readWrapped = (code: number, at: number): boolean => {
    if (!wrapped.active) wrapped.wake(held, at - offset, offset);
    if (!wrapped.active) return false;
    const match = wrapped.push(code, at);
    if (match !== undefined) found.push({ start: match.start, end: match.end, name: match.form.name });
    return wrapped.active;
  };

  return {
    push(chunk) {
      const base = offset + held.length;
      held += chunk;
      // Copies, because both are asked for with every character.
      let current = state;
      let awake = wrapped.active;
      for (let index = 0; index < chunk.length; index += 1) {
        const code = chunk.charCodeAt(index);
        if (current === 0 && !awake && !automaton.starts(code)) continue;
        if (awake || (current !== 0 && beginsBreak(code))) awake = readWrapped(code, base + index);
        current = automaton.step(current, code);
        const form: Form | undefined = automaton.output(current);
        if (form !== undefined)
          found.push({ start: base + index + 1 - form.text.length, end: base + index + 1, name: form.name });
      }
      state = current;
      const end = offset + held.length - automaton.depth(state);
      return settle(awake ? Math.min(end, wrapped.pending() ?? end) : end);
    },
    flush() {
      state = 0;
      wrapped.reset();
      return settle(offset + held.length);
    },
  };
}
