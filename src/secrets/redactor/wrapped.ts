import type { Automaton } from "./automaton.ts";
import type { Form } from "./forms.ts";

const [TAB, NEWLINE, RETURN, BLANK, SLASH, BACKSLASH, N, R] = [9, 10, 13, 32, 47, 92, 110, 114];
/** Line ends, indentation and backslashes in a row between two letters; more is not a wrapped line. */
const MAX_SKIPPED = 256;

/** The same text with breaks in it: where a form begins and ends in the text that was pushed. */
export type WrappedMatch = { readonly form: Form; readonly start: number; readonly end: number };

/**
 * Finds forms that a program has broken into lines (`base64` at 76 columns, PEM at 64, `xxd` at 60), with the break as it
 * is or as a JSON string spells it. It sleeps until a line ends in the beginning of a form, so that ordinary text costs
 * nothing, and it wakes for each stream of its own.
 */
export type WrappedReader = {
  /** False while no form that runs over a break can be under way; `push` need not be called then. */
  readonly active: boolean;
  /** A character that may begin a break comes at `index` of the held text, which begins at place `offset`. */
  wake(held: string, index: number, offset: number): void;
  /** One more character, at place `at`; gives the form that ends with it. */
  push(code: number, at: number): WrappedMatch | undefined;
  /** Where the text starts that may still become a form; undefined when there is none. */
  pending(): number | undefined;
  reset(): void;
};

/** True for what a break can begin with: a line end, or the backslash of one inside JSON. */
export function beginsBreak(code: number): boolean {
  return code === NEWLINE || code === RETURN || code === BACKSLASH;
}

/** `automaton` knows the forms that are wrapped, and no other. */
export function createWrappedReader(automaton: Automaton): WrappedReader {
  let active = false;
  let state = 0;
  /** Places of the letters read since waking; those of the form under way are the last ones. */
  let places: number[] = [];
  /** Letters since the last break: a form no longer than this is not broken. */
  let letters = 0;
  let skipped = 0;
  let escaping = false;
  let indenting = false;

  const step = (code: number, at: number): void => {
    state = automaton.step(state, code);
    places.push(at);
    letters += 1;
    const length = automaton.length(state);
    if (places.length > 2 * length + 1024) places = places.slice(places.length - length);
  };
  const reset = (): void => {
    active = false;
    state = 0;
    places.length = 0;
    escaping = false;
    indenting = false;
  };
  const skip = (): undefined => {
    letters = 0;
    skipped += 1;
    if (skipped > MAX_SKIPPED) reset();
    return undefined;
  };
  /** What a character of a break does; "letter" when it belongs to none. */
  const readBreak = (code: number): "skip" | "letter" => {
    if (escaping) {
      if (code === BACKSLASH) return "skip";
      escaping = false;
      indenting = code === N || code === R;
      // `\/` is a slash, which some writers of JSON escape.
      return indenting ? "skip" : code === SLASH ? "letter" : endEscape();
    }
    if (code === BACKSLASH) escaping = true;
    else if (code === NEWLINE || code === RETURN) indenting = true;
    else if (!(indenting && (code === BLANK || code === TAB))) return "letter";
    return "skip";
  };
  /** An escape that is no line end ends every form. */
  const endEscape = (): "letter" => {
    state = 0;
    return "letter";
  };

  return {
    get active() {
      return active;
    },
    wake(held, index, offset) {
      let from = index;
      while (from > 0 && isLetter(held.charCodeAt(from - 1))) from -= 1;
      for (let at = from; at < index; at += 1) {
        const code = held.charCodeAt(at);
        if (state !== 0 || automaton.starts(code)) step(code, offset + at);
      }
      active = state !== 0;
      skipped = 0;
      if (!active) places.length = 0;
    },
    push(code, at) {
      if (readBreak(code) === "skip") return skip();
      indenting = false;
      skipped = 0;
      step(code, at);
      const form = automaton.output(state);
      const broken = form !== undefined && form.text.length > letters;
      const start = broken ? places.at(-form.text.length) : undefined;
      // What lies behind the break alone is no business of this reader.
      if (automaton.length(state) <= letters) reset();
      return form === undefined || start === undefined ? undefined : { form, start, end: at + 1 };
    },
    pending() {
      const depth = active ? automaton.depth(state) : 0;
      return depth === 0 ? undefined : places.at(-depth);
    },
    reset,
  };
}

/** Letters of base64 in both alphabets, and of hexadecimal digits. */
function isLetter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 43 ||
    code === 45 ||
    code === 61 ||
    code === 95
  );
}
