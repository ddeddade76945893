import type { ExecResult, ResolvedCommandContext } from "just-bash";

/** Numbers one call gives; their text must fit into the interpreter's longest string. */
const MAX_NUMBERS = 1_500_000;
/** Numbers that are joined at once. */
const PIECE = 10_000;

/**
 * `seq` of whole numbers as text that grows in pieces: the built-in one holds every number as a string of its own, and a
 * million of them fill an isolate. It is given as bytes, since a pipe takes text apart by characters. What is not plain, or too much, is left to the built-in one and its limits.
 */
export async function runSeq(args: string[], context: ResolvedCommandContext): Promise<ExecResult> {
  const numbers = args.map((each) => (/^-?\d{1,15}$/.test(each) ? Number(each) : Number.NaN));
  const [first, step, last] = numbers.length === 3 ? numbers : [numbers.length > 1 ? numbers[0] : 1, 1, numbers.at(-1)];
  const plain = numbers.length > 0 && numbers.length <= 3 && !numbers.some(Number.isNaN);
  if (!plain || first === undefined || !step || last === undefined) return builtIn(args, context);
  const count = Math.max(0, Math.floor((last - first) / step) + 1);
  if (count > MAX_NUMBERS) return builtIn(args, context);
  let stdout = "";
  for (let at = 0; at < count; at += PIECE) {
    const length = Math.min(PIECE, count - at);
    stdout += `${Array.from({ length }, (_, i) => first + (at + i) * step).join("\n")}\n`;
  }
  return { stdout, stderr: "", exitCode: 0, stdoutKind: "bytes" };
}

async function builtIn(args: string[], context: ResolvedCommandContext): Promise<ExecResult> {
  return (await context.origCommand?.(args)) ?? { stdout: "", stderr: "seq: failed\n", exitCode: 1 };
}
