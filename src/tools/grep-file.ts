import type { BoundedPattern } from "../shared/bounded-pattern.ts";

/** Longer lines are cut before they are searched: the time of a regular expression grows faster than the line. */
const LINE_CHARS = 10_000;
/** What is shown of a line. */
const SHOWN_CHARS = 500;

export type Context = { readonly before: number; readonly after: number };

/** A line to show; `hit` tells a match from its context. */
export type ShownLine = { readonly number: number; readonly text: string; readonly hit: boolean };

export function linesOf(content: string): string[] {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

/** How long one call may search, milliseconds. The clock moves on while the search pauses, so that is where it is read. */
const MAX_MS = 10_000;

/** What a search over many files has taken so far. */
export type Tally = {
  /** Clock when the search began, milliseconds. */
  readonly begun: number;
  /** Lines of which only the first part was searched. */
  cut: number;
};

/** True when a call has taken as much time as it may. */
export function isSpent(tally: Tally): boolean {
  return Date.now() - tally.begun > MAX_MS;
}

/** Indexes of the lines that match by themselves; ends early when the tally is spent. Pauses after work that may have taken about a second. */
export async function matchLines(
  lines: readonly string[],
  pattern: BoundedPattern,
  tally: Tally,
  pause: () => Promise<void>,
): Promise<number[]> {
  const reach = Math.min(LINE_CHARS, pattern.reach);
  const hits: number[] = [];
  let cost = 0;
  for (const [i, line] of lines.entries()) {
    const part = line.slice(0, reach);
    if (pattern.expression.test(part)) hits.push(i);
    if (part.length < line.length) tally.cut++;
    cost += (part.length / reach) ** (pattern.repeats + 1);
    if (cost < (pattern.repeats === 0 ? 1_000 : 2)) continue;
    cost = 0;
    await pause();
    if (isSpent(tally)) break;
  }
  return hits;
}

/** Indexes of the lines that matches over several lines touch; the expression has the flag `g`. */
export function matchAcrossLines(content: string, expression: RegExp): number[] {
  const hits: number[] = [];
  let line = 0;
  let counted = 0;
  for (const match of content.matchAll(expression)) {
    line += newlines(content, counted, match.index);
    counted = match.index;
    // A line break at the end of the match belongs to the line that it ends.
    const touched = newlines(match[0], 0, match[0].length - (match[0].endsWith("\n") ? 1 : 0));
    for (let i = line; i <= line + touched; i++) if (i > (hits.at(-1) ?? -1)) hits.push(i);
  }
  return hits;
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The hits with the lines around them, in blocks of neighbouring lines. */
export function withContext(lines: readonly string[], hits: readonly number[], around: Context): ShownLine[][] {
  const blocks: ShownLine[][] = [];
  const isHit = new Set(hits);
  let next = 0;
  for (const hit of hits) {
    const from = Math.max(next, hit - around.before);
    const to = Math.min(lines.length - 1, hit + around.after);
    if (from > to) continue;
    const block = from === next && blocks.length > 0 ? blocks.at(-1) : undefined;
    const shown: ShownLine[] = [];
    for (let i = from; i <= to; i++) shown.push({ number: i + 1, text: cut(lines[i] ?? ""), hit: isHit.has(i) });
    if (block) block.push(...shown);
    else blocks.push(shown);
    next = to + 1;
  }
  return blocks;
}

function cut(line: string): string {
  return line.length <= SHOWN_CHARS ? line : `${line.slice(0, SHOWN_CHARS)}…`;
}
