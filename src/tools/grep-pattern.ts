import { err, ok, type Result } from "../contract/result.ts";

const MAX_PATTERN = 1_000;
/** Each unbounded repeat may multiply the time by the length of the text; three are what ordinary searches need. */
const MAX_REPEATS = 4;

/**
 * Compiles a regular expression of the model. JavaScript's engine backtracks and cannot be interrupted, and an isolate
 * serves other sessions too, so what can take exponential time is refused: a repeat without an upper bound around a group
 * that holds another, or that holds alternatives. The rule is coarse; it refuses some harmless patterns.
 */
export function compileGrep(pattern: string, flags: string): Result<RegExp, string> {
  if (pattern.length > MAX_PATTERN) return err(`the pattern is longer than ${MAX_PATTERN} characters`);
  const expression = compile(pattern, flags);
  if (!expression)
    return err("the pattern is not a valid JavaScript regular expression; escape characters meant literally");
  const risk = findRisk(pattern);
  return risk === undefined ? ok(expression) : err(risk);
}

function compile(pattern: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return undefined;
  }
}

type Group = { repeats: boolean; alternatives: boolean };

function findRisk(pattern: string): string | undefined {
  const open: Group[] = [{ repeats: false, alternatives: false }];
  let closed: Group | undefined;
  let repeats = 0;
  for (let i = 0; i < pattern.length; ) {
    const char = pattern.charAt(i);
    const repeat = repeatAt(pattern, i);
    if (repeat) {
      if (repeat.large && (closed?.repeats || closed?.alternatives)) {
        return "the pattern repeats a group that holds repeats or alternatives, which can take for ever; write it without";
      }
      const around = open.at(-1);
      if (repeat.large) {
        if (around) around.repeats = true;
        repeats++;
      }
      i += repeat.length;
      closed = undefined;
      continue;
    }
    closed = undefined;
    if (char === "\\") {
      if (/[1-9k]/.test(pattern.charAt(i + 1))) return "the pattern refers back to a group, which can take for ever";
      i += 2;
      continue;
    }
    if (char === "[") {
      i = endOfClass(pattern, i);
      continue;
    }
    if (char === "(") open.push({ repeats: false, alternatives: false });
    if (char === "|") {
      const around = open.at(-1);
      if (around) around.alternatives = true;
    }
    if (char === ")") {
      closed = open.pop();
      const around = open.at(-1);
      // What a group holds, the group around it holds too.
      if (around && closed) {
        around.repeats ||= closed.repeats;
        around.alternatives ||= closed.alternatives;
      }
    }
    i++;
  }
  if (repeats > MAX_REPEATS)
    return `the pattern has more than ${MAX_REPEATS} unbounded repeats; search for less at once`;
  return undefined;
}

/** A quantifier at this place. Large: without an upper bound, or one that is as good as none. */
function repeatAt(pattern: string, at: number): { readonly length: number; readonly large: boolean } | undefined {
  const char = pattern.charAt(at);
  if (char === "*" || char === "+") return { length: 1 + lazy(pattern, at + 1), large: true };
  if (char === "?") {
    // `(?:`, `(?=`, `(?<name>` open a group and repeat nothing.
    return pattern.charAt(at - 1) === "(" && pattern.charAt(at - 2) !== "\\" ? undefined : { length: 1, large: false };
  }
  const braces = /^\{(\d+)(,?)(\d*)\}/.exec(pattern.slice(at, at + 30));
  if (!braces) return undefined;
  const most = braces[3] ? Number(braces[3]) : braces[2] ? Number.POSITIVE_INFINITY : Number(braces[1]);
  return { length: braces[0].length + lazy(pattern, at + braces[0].length), large: most > 10 };
}

function lazy(pattern: string, at: number): number {
  return pattern.charAt(at) === "?" ? 1 : 0;
}

function endOfClass(pattern: string, at: number): number {
  let i = at + 1;
  while (i < pattern.length && pattern.charAt(i) !== "]") i += pattern.charAt(i) === "\\" ? 2 : 1;
  return i + 1;
}
