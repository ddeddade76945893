import { isRecord } from "../transport/tool-arguments.ts";

export type Detail = Record<string, unknown>;

/** Fields that come in pieces; all others come whole and the last value counts. */
const PIECES = ["text", "summary"] as const;

/** Adds fragments of OpenRouter's `reasoning_details` to a list: pieces of one entry are joined, order and content are kept. */
export function addDetails(list: Detail[], value: unknown): void {
  if (!Array.isArray(value)) return;
  for (const fragment of value) {
    if (!isRecord(fragment)) continue;
    // Pieces of several entries may alternate: where they are numbered, an entry is found again by its number.
    const last = typeof fragment.index === "number" ? list.findLast((d) => samePlace(d, fragment)) : list.at(-1);
    if (!last || !continues(last, fragment)) list.push({ ...fragment });
    else {
      const joined: Detail = {};
      for (const field of PIECES) {
        if (typeof fragment[field] === "string")
          joined[field] = (typeof last[field] === "string" ? last[field] : "") + fragment[field];
      }
      const present = Object.fromEntries(Object.entries(fragment).filter(([, v]) => v !== null && v !== undefined));
      Object.assign(last, present, joined);
    }
  }
}

function samePlace(a: Detail, b: Detail): boolean {
  return a.type === b.type && a.index === b.index;
}

/** The same entry goes on: same kind and place, and nothing that closed it (a signature, encrypted data) came before. */
function continues(last: Detail, next: Detail): boolean {
  if (!samePlace(last, next) || next.type === "reasoning.encrypted") return false;
  if (next.index === undefined && (last.signature || last.id !== next.id)) return false;
  return !last.signature || typeof next.text !== "string" || next.text === "";
}

/** The visible text of fragments, for servers that fill only this field. */
export function detailText(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return value
    .map((d) =>
      isRecord(d) ? (typeof d.text === "string" ? d.text : typeof d.summary === "string" ? d.summary : "") : "",
    )
    .join("");
}
