import { err, ok, type Result } from "../contract/result.ts";

const MAX_PATTERN = 1_000;
const MAX_REPEATS = 4;
/** Ways that bounded repeats and alternatives may multiply to. */
const MAX_WAYS = 10_000;
/** Steps that one match may take at worst; under a second. */
const STEPS = 1e8;

export type BoundedPattern = {
  readonly expression: RegExp;
  /** Unbounded repeats; each multiplies the worst time by the length of the text. */
  readonly repeats: number;
  /** Characters that one match may look at and still end soon. */
  readonly reach: number;
};

/**
 * Compiles a regular expression that the product has not written. JavaScript's engine backtracks and cannot be interrupted, and an isolate
 * serves other sessions too. So what can take exponential time is refused, and for the rest the worst case says how long a
 * text may be. The rule is coarse; it refuses some harmless patterns.
 */
export function compileBounded(pattern: string, flags: string): Result<BoundedPattern, string> {
  if (pattern.length > MAX_PATTERN) return err(`the pattern is longer than ${MAX_PATTERN} characters`);
  const expression = compile(pattern, flags);
  if (!expression) {
    return err("the pattern is not a valid JavaScript regular expression; escape characters meant literally");
  }
  const weight = weigh(pattern);
  if (!weight.ok) return weight;
  const { repeats, ways } = weight.value;
  if (repeats > MAX_REPEATS) {
    return err(`the pattern has more than ${MAX_REPEATS} unbounded repeats; bound some, as in {0,100}`);
  }
  if (ways > MAX_WAYS) return err("the pattern can match in too many ways; use fewer optional parts and alternatives");
  // n characters can be shared out over k repeats and a start in about n^(k+1) / (k+1)! ways.
  const factorial = [1, 2, 6, 24, 120][repeats] ?? 1;
  return ok({ expression, repeats, reach: Math.floor(((STEPS * factorial) / ways) ** (1 / (repeats + 1))) });
}

function compile(pattern: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return undefined;
  }
}

/** A group while it is read: does it hold an unbounded repeat, and in how many ways can it match. */
type Group = { repeats: boolean; earlierBranches: number; branch: number };
type Weight = { readonly repeats: number; readonly ways: number };
const NESTED =
  "the pattern repeats a group that holds repeats or alternatives, which can take for ever; write it without";

function weigh(pattern: string): Result<Weight, string> {
  const outer: Group[] = [];
  let group: Group = { repeats: false, earlierBranches: 0, branch: 1 };
  let closed: Group | undefined;
  let repeats = 0;
  for (let i = 0; i < pattern.length; ) {
    const char = pattern.charAt(i);
    const repeat = repeatAt(pattern, i);
    if (repeat) {
      const ways = closed ? waysOf(closed) : 1;
      if (repeat.most > 1 && closed?.repeats) return err(NESTED);
      if (repeat.most > 50 && ways > 1) return err(NESTED);
      if (repeat.most > 50) {
        group.repeats = true;
        repeats++;
      } else {
        group.branch *= ways ** Math.max(0, repeat.most - 1) * (repeat.most - repeat.least + 1);
      }
      i += repeat.length;
      closed = undefined;
      continue;
    }
    closed = undefined;
    if (char === "\\") {
      if (/[1-9k]/.test(pattern.charAt(i + 1)))
        return err("the pattern refers back to a group, which can take for ever");
      i += 2;
      continue;
    }
    if (char === "[") {
      i = endOfClass(pattern, i);
      continue;
    }
    if (char === "(") {
      outer.push(group);
      group = { repeats: false, earlierBranches: 0, branch: 1 };
    } else if (char === "|") {
      group.earlierBranches += group.branch;
      group.branch = 1;
    } else if (char === ")") {
      closed = group;
      group = outer.pop() ?? group;
      group.repeats ||= closed.repeats;
      group.branch *= waysOf(closed);
    }
    i++;
  }
  return ok({ repeats, ways: waysOf(group) });
}

function waysOf(group: Group): number {
  return group.earlierBranches + group.branch;
}

type Repeat = { readonly length: number; readonly least: number; readonly most: number };

function repeatAt(pattern: string, at: number): Repeat | undefined {
  const char = pattern.charAt(at);
  const many = Number.POSITIVE_INFINITY;
  if (char === "*" || char === "+") return { length: 1 + lazy(pattern, at + 1), least: 0, most: many };
  if (char === "?") {
    // `(?:`, `(?=`, `(?<name>` open a group and repeat nothing.
    const opens = pattern.charAt(at - 1) === "(" && pattern.charAt(at - 2) !== "\\";
    return opens ? undefined : { length: 1 + lazy(pattern, at + 1), least: 0, most: 1 };
  }
  const braces = /^\{(\d+)(,?)(\d*)\}/.exec(pattern.slice(at, at + 30));
  if (!braces) return undefined;
  const least = Number(braces[1]);
  const most = braces[3] ? Number(braces[3]) : braces[2] ? many : least;
  return { length: braces[0].length + lazy(pattern, at + braces[0].length), least, most };
}

function lazy(pattern: string, at: number): number {
  return pattern.charAt(at) === "?" ? 1 : 0;
}

function endOfClass(pattern: string, at: number): number {
  let i = at + 1;
  while (i < pattern.length && pattern.charAt(i) !== "]") i += pattern.charAt(i) === "\\" ? 2 : 1;
  return i + 1;
}
