import type { Message } from "../../contract/messages.ts";
import type { Turn } from "./conversation.ts";

type Known = { readonly variant: string; readonly turns: readonly Turn[]; readonly json: string };

/**
 * Joins the JSON of turns with commas and remembers it, by the history's first message, for the next request: what was joined
 * before is appended to, not joined again. The last turn is never remembered, because it may carry a cache mark. A history that
 * was changed (compacted, forked) does not match what is known and is joined anew.
 */
export function createTurnJoiner(): (
  history: readonly Message[],
  variant: string,
  turns: readonly Turn[],
  encode: (turn: Turn, at: number) => string,
) => string {
  const memo = new WeakMap<Message, Known>();
  return (history, variant, turns, encode) => {
    const [first] = history;
    const known = first && memo.get(first);
    const usable = known?.variant === variant && begins(turns, known.turns) ? known : undefined;
    let json = usable?.json ?? "";
    const settled = turns.length - 1;
    for (let at = usable?.turns.length ?? 0; at < settled; at++) json = join(json, turns[at], at, encode);
    if (first && settled > 0) memo.set(first, { variant, turns: turns.slice(0, settled), json });
    return join(json, turns[settled], settled, encode);
  };
}

/** A turn may have nothing to send: then there is no comma for it either. Concatenation shares the text, it copies nothing. */
function join(json: string, turn: Turn | undefined, at: number, encode: (turn: Turn, at: number) => string): string {
  const next = turn === undefined ? "" : encode(turn, at);
  return json === "" || next === "" ? json + next : `${json},${next}`;
}

function begins(turns: readonly Turn[], with_: readonly Turn[]): boolean {
  // The last turn of a request is encoded on its own, so the known ones must end before it.
  return with_.length < turns.length && with_.every((turn, at) => same(turn, turns[at]));
}

function same(a: Turn, b: Turn | undefined): boolean {
  if (a.role !== b?.role || a.messages.length !== b.messages.length) return false;
  if (!a.messages.every((message, at) => message === b.messages[at])) return false;
  if (a.role === "assistant" || b.role === "assistant") return true;
  return (
    a.results.length === b.results.length &&
    a.results.every(
      ({ call, result }, at) => call === b.results[at]?.call && result?.block === b.results[at]?.result?.block,
    )
  );
}
