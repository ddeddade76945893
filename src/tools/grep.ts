import { z } from "zod";
import { ok } from "../contract/result.ts";
import type { FileAnswer, FileStat } from "../contract/sandbox.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { type BoundedPattern, compileBounded } from "../shared/bounded-pattern.ts";
import { isCredentialPath } from "../shared/protected-names.ts";
import { decodeLeniently, isBinary } from "./bytes.ts";
import { compileGlob, isQuiet, type PathTest } from "./glob-pattern.ts";
import { type Context, isSpent, linesOf, matchAcrossLines, matchLines, type Tally, withContext } from "./grep-file.ts";
import { failure, text } from "./outcome.ts";
import { below, resolvePath } from "./paths.ts";

const FILE_BYTES = 10 * 1024 * 1024;
const MAX_WALKED = 50_000;
const DEFAULT_HEAD = 250;
/** How many of the files that were left out are named. */
const MAX_NAMED = 5;

const lineCount = z.number().int().min(0).max(100).optional();
const Input = z.object({
  pattern: z.string().min(1).describe("A JavaScript regular expression"),
  path: z.string().min(1).optional().describe("File or directory to search (default: the working directory)"),
  glob: z.string().min(1).optional().describe('Only files that match, such as "*.ts" or "src/**/*.md"'),
  output_mode: z
    .enum(["content", "files_with_matches", "count"])
    .optional()
    .describe(
      "content shows lines, files_with_matches (default) shows paths, count shows how many lines match per file",
    ),
  "-i": z.boolean().optional().describe("Ignore case"),
  "-n": z.boolean().optional().describe("Show line numbers with content (default true)"),
  "-A": lineCount.describe("Lines to show after each match"),
  "-B": lineCount.describe("Lines to show before each match"),
  "-C": lineCount.describe("Lines to show before and after each match"),
  head_limit: z.number().int().min(1).optional().describe(`Lines or paths to show at most (default ${DEFAULT_HEAD})`),
  multiline: z.boolean().optional().describe("Let matches run over lines; . matches line breaks too (default false)"),
});
type Input = z.infer<typeof Input>;

/** Searches the content of files. */
export function createGrepTool(): Tool<Input> {
  return {
    name: "Grep",
    description:
      "Searches files for a regular expression (JavaScript syntax, line by line). Shows the paths of matching files, or " +
      "with output_mode the lines or their count; narrow it with path and glob. Skips binary files, files over 10 MB, " +
      "links, .git and node_modules, and files that hold credentials unless path names one of them. Very long lines are searched at their start only, and the less of them the more " +
      "repeats (* + {n,}) the pattern has; with multiline large files are skipped. Patterns that could take for ever are " +
      "refused, such as repeats inside repeats. To find files by name use Glob.",
    input: Input,
    metadata: {
      readOnly: true,
      concurrencySafe: true,
      destructive: false,
      searchHint: "search text, regular expression, in files",
      permissionClass: "file",
      requiresCheckpoint: false,
      auditOperation: "read",
      recovery: "rerun",
    },
    resource: (input) => (input.path === undefined ? input.pattern : `${input.path} ${input.pattern}`),
    run: grep,
  };
}

type Found = {
  readonly lines: string[];
  readonly tally: Tally;
  /** Files a question must come first for, relative to the folder that is searched. */
  readonly withheld: string[];
  files: number;
  skipped: number;
  full: boolean;
};

async function grep(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const multiline = input.multiline ?? false;
  const expression = compileBounded(input.pattern, `${input["-i"] ? "i" : ""}${multiline ? "gms" : ""}`);
  if (!expression.ok) return failure(expression.error);
  // One match may look at the whole file here, and two repeats over a file take too long.
  if (multiline && expression.value.repeats > 1) {
    return failure("the pattern may have one unbounded repeat with multiline; bound the others, as in {0,20}");
  }
  const wanted = input.glob === undefined ? undefined : compileGlob(input.glob, { basename: true });
  if (wanted && !wanted.ok) return failure(wanted.error);
  const base = resolvePath(context.facts.cwd, input.path ?? ".");
  const stat = await context.sandbox.files.stat(base);
  if (!stat.ok) return failure(stat.error.message);
  const asksFirst = await credentialsBelow(base, context);
  if (!asksFirst.ok) return failure(asksFirst.error.message);
  const tally: Tally = { begun: Date.now(), cut: 0 };
  const found: Found = { lines: [], tally, withheld: [], files: 0, skipped: 0, full: false };
  const limit = input.head_limit ?? DEFAULT_HEAD;
  let searched = 0;
  const filter: Filter = { glob: input.glob ?? "", wanted: wanted?.value, asksFirst: asksFirst.value };
  for await (const file of candidates(stat.value, filter, found.withheld, context)) {
    await pause(context.signal);
    await searchFile(file, expression.value, input, found, context);
    searched++;
    if (searched % 100 === 0) context.progress(0.5, `${searched} files searched, ${found.files} match`);
    if (found.lines.length > limit) {
      found.full = true;
      break;
    }
    if (isSpent(found.tally)) break;
  }
  return text(report(found, limit, input.pattern, base));
}

type Filter = {
  readonly glob: string;
  readonly wanted: PathTest | undefined;
  /** Whether Read would be asked about a path below the searched folder; "" is the folder itself. */
  readonly asksFirst: PathTest;
};

/**
 * The files to search. The permission check has judged the path of the call alone, so a folder's files with credentials,
 * which Read would be asked about, go to `withheld`. spec: S-1
 */
async function* candidates(
  base: FileStat,
  { glob, wanted, asksFirst }: Filter,
  withheld: string[],
  context: ToolContext,
): AsyncGenerator<FileStat> {
  if (base.kind === "file") {
    yield base;
    return;
  }
  const asked = asksFirst("");
  for await (const entry of context.sandbox.files.walk(base.path, MAX_WALKED)) {
    context.signal.throwIfAborted();
    const relative = below(base.path, entry.path);
    // A link may lead out of the workspace, where the check of the call has not looked.
    if (relative === undefined || entry.kind !== "file" || isQuiet(relative, glob)) continue;
    if (wanted && !wanted(relative)) continue;
    if (!asked && asksFirst(relative)) withheld.push(relative);
    else yield entry;
  }
}

/**
 * Judges a path as it is spelled and as it is without the links that lead to the folder, as the check of a Read does:
 * a link may hide the name of `.git` in `.git/config`. Names count from the workspace, or from the folder outside it.
 */
async function credentialsBelow(base: string, context: ToolContext): Promise<FileAnswer<PathTest>> {
  const { files, root } = context.sandbox;
  const [realRoot, realBase] = await Promise.all([files.realPath(root), files.realPath(base)]);
  if (!realRoot.ok) return realRoot;
  if (!realBase.ok) return realBase;
  const folders = new Set([below(root, base) ?? "", below(realRoot.value, realBase.value) ?? ""]);
  return ok((relative) =>
    [...folders].some((folder) => isCredentialPath(`${folder}/${relative}`.split("/").filter(Boolean))),
  );
}

async function searchFile(
  file: FileStat,
  pattern: BoundedPattern,
  input: Input,
  found: Found,
  context: ToolContext,
): Promise<void> {
  if (file.size > (input.multiline ? Math.min(FILE_BYTES, pattern.reach) : FILE_BYTES)) {
    found.skipped++;
    return;
  }
  const answer = await context.sandbox.files.readFile(file.path);
  if (!answer.ok) {
    found.skipped++;
    return;
  }
  if (isBinary(answer.value)) return;
  const content = decodeLeniently(answer.value);
  const lines = linesOf(content);
  const hits = input.multiline
    ? matchAcrossLines(content, pattern.expression)
    : await matchLines(lines, pattern, found.tally, () => pause(context.signal));
  if (hits.length === 0) return;
  found.files++;
  const mode = input.output_mode ?? "files_with_matches";
  if (mode === "files_with_matches") found.lines.push(file.path);
  else if (mode === "count") found.lines.push(`${file.path}:${hits.length}`);
  else showContent(file.path, lines, hits, input, found.lines);
}

function showContent(
  path: string,
  lines: readonly string[],
  hits: readonly number[],
  input: Input,
  into: string[],
): void {
  const around: Context = {
    before: input["-B"] ?? input["-C"] ?? 0,
    after: input["-A"] ?? input["-C"] ?? 0,
  };
  const apart = around.before > 0 || around.after > 0;
  for (const block of withContext(lines, hits, around)) {
    if (apart && into.length > 0) into.push("--");
    for (const line of block) {
      const mark = line.hit ? ":" : "-";
      into.push(`${path}${mark}${input["-n"] === false ? "" : `${line.number}${mark}`}${line.text}`);
    }
  }
}

function report(found: Found, limit: number, pattern: string, base: string): string {
  const lines = found.lines.slice(0, limit);
  if (lines.length === 0) lines.push(`Nothing matches ${pattern} in ${base}.`);
  if (found.full || found.lines.length > limit) {
    lines.push(`(the first ${limit} results; there are more: narrow the search or raise head_limit)`);
  }
  if (found.skipped > 0) lines.push(`(${found.skipped} files were skipped: too large or not readable)`);
  if (found.withheld.length > 0) lines.push(withheldNote(found.withheld));
  if (found.tally.cut > 0) lines.push(`(${found.tally.cut} long lines were searched in their first part only)`);
  if (isSpent(found.tally)) {
    lines.push("(stopped: the pattern takes too long here; use fewer unbounded repeats or a narrower path)");
  }
  return lines.join("\n");
}

function withheldNote(files: readonly string[]): string {
  const names = `${files.slice(0, MAX_NAMED).join(", ")}${files.length > MAX_NAMED ? ", …" : ""}`;
  const count = files.length === 1 ? "1 file that needs" : `${files.length} files that need`;
  return `(${count} permission ${files.length === 1 ? "was" : "were"} left out: ${names}; to search one, give it as path)`;
}

/** Lets the isolate serve others and hear of an abort; a resolved promise alone would not. */
async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, 0));
  signal.throwIfAborted();
}
