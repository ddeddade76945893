import { structuredPatch } from "diff";
import type { Change, Side } from "./changes.ts";
import { short } from "./repository.ts";

/** Lines that may differ before a file is shown as replaced whole: comparing takes their square. */
const MAX_EDITS = 2_000;
/** As git: a null byte in the beginning makes a file binary. */
const SNIFFED_BYTES = 8_000;

type Hunks = ReturnType<typeof structuredPatch>["hunks"];

/** One change in git's patch format. */
export function patchText(change: Change): string {
  const { path, before, after } = change;
  const lines = [`diff --git a/${path} b/${path}`];
  if (!before && after) lines.push(`new file mode ${after.mode}`);
  if (before && !after) lines.push(`deleted file mode ${before.mode}`);
  if (before && after && before.mode !== after.mode) lines.push(`old mode ${before.mode}`, `new mode ${after.mode}`);
  if (before?.oid !== after?.oid) {
    const mode = before && after && before.mode === after.mode ? ` ${after.mode}` : "";
    lines.push(`index ${short(before?.oid ?? ZERO)}..${short(after?.oid ?? ZERO)}${mode}`);
    const names = [before ? `a/${path}` : "/dev/null", after ? `b/${path}` : "/dev/null"] as const;
    if (isBinary(before) || isBinary(after)) lines.push(`Binary files ${names[0]} and ${names[1]} differ`);
    else {
      const hunks = hunksOf(change);
      if (hunks.length > 0) lines.push(`--- ${names[0]}`, `+++ ${names[1]}`);
      for (const hunk of hunks) {
        lines.push(
          `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
          ...hunk.lines,
        );
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

const ZERO = "0".repeat(40);

export type Counts = { readonly added: number; readonly removed: number; readonly binary: boolean };

/** How many lines a change adds and removes. */
export function countLines(change: Change): Counts {
  if (isBinary(change.before) || isBinary(change.after)) return { added: 0, removed: 0, binary: true };
  const lines = hunksOf(change).flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-"), binary: false };
}

/** The last line of `--stat` and of `commit`; empty when nothing changed. */
export function summaryLine(counts: readonly Counts[]): string {
  if (counts.length === 0) return "";
  const added = counts.reduce((sum, each) => sum + each.added, 0);
  const removed = counts.reduce((sum, each) => sum + each.removed, 0);
  const parts = [` ${counts.length} file${counts.length === 1 ? "" : "s"} changed`];
  if (added > 0 || removed === 0) parts.push(`${added} insertion${added === 1 ? "" : "s"}(+)`);
  if (removed > 0 || added === 0) parts.push(`${removed} deletion${removed === 1 ? "" : "s"}(-)`);
  return `${parts.join(", ")}\n`;
}

/** The table of `--stat`. */
export function statText(changes: readonly Change[]): string {
  const counts = changes.map(countLines);
  const width = Math.max(0, ...changes.map((each) => each.path.length));
  const digits = Math.max(1, ...counts.map((each) => String(each.added + each.removed).length));
  const most = Math.max(1, ...counts.map((each) => each.added + each.removed));
  const scale = Math.min(1, 40 / most);
  const rows = changes.map((change, i) => {
    const { added, removed, binary } = counts[i] ?? { added: 0, removed: 0, binary: false };
    const bar = "+".repeat(Math.ceil(added * scale)) + "-".repeat(Math.ceil(removed * scale));
    const cell = binary ? "Bin" : `${String(added + removed).padStart(digits)} ${bar}`.trimEnd();
    return ` ${change.path.padEnd(width)} | ${cell}\n`;
  });
  return rows.join("") + summaryLine(counts);
}

function isBinary(side: Side | undefined): boolean {
  return side?.bytes.subarray(0, SNIFFED_BYTES).includes(0) ?? false;
}

function hunksOf({ before, after }: Change): Hunks {
  const [old, now] = [before, after].map((side) => new TextDecoder().decode(side?.bytes ?? new Uint8Array()));
  const patch = structuredPatch("a", "b", old ?? "", now ?? "", "", "", { context: 3, maxEditLength: MAX_EDITS });
  return patch?.hunks ?? replaced(old ?? "", now ?? "");
}

/** All of one text for all of the other. */
function replaced(old: string, now: string): Hunks {
  const lines = (text: string, sign: string) => {
    const parts = text.split("\n");
    const open = parts.pop() ?? "";
    const rows = parts.map((each) => `${sign}${each}`);
    return open === "" ? rows : [...rows, `${sign}${open}`, "\\ No newline at end of file"];
  };
  const [before, after] = [lines(old, "-"), lines(now, "+")];
  const count = (rows: readonly string[], sign: string) => rows.filter((each) => each.startsWith(sign)).length;
  const [oldLines, newLines] = [count(before, "-"), count(after, "+")];
  return [{ oldStart: oldLines && 1, oldLines, newStart: newLines && 1, newLines, lines: [...before, ...after] }];
}

/** The library numbers an empty side from 1; git says 0. */
function range(start: number, lines: number): string {
  return lines === 1 ? String(start) : `${lines === 0 ? Math.max(0, start - 1) : start},${lines}`;
}
