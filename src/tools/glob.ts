import { z } from "zod";
import type { FileStat } from "../contract/sandbox.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { compileGlob, isQuiet } from "./glob-pattern.ts";
import { failure, text } from "./outcome.ts";
import { below, resolvePath } from "./paths.ts";

const MAX_PATHS = 1_000;
/** Bounds the time and memory of one call in a workspace of any size. */
const MAX_WALKED = 50_000;

const Input = z.object({
  pattern: z.string().min(1).describe('A glob such as "**/*.ts" or "src/{a,b}/*.md", relative to path'),
  path: z.string().min(1).optional().describe("Directory to search (default: the working directory)"),
});
type Input = z.infer<typeof Input>;

/** Finds files by name. */
export function createGlobTool(): Tool<Input> {
  return {
    name: "Glob",
    description:
      'Finds files by a glob pattern, newest first, at most 1,000. "*.ts" looks in the directory itself, "**/*.ts" also ' +
      "below it. Files whose names start with a dot are found; .git and node_modules only when the pattern names them. " +
      "Links are not followed. To search what is in files use Grep.",
    input: Input,
    metadata: {
      readOnly: true,
      concurrencySafe: true,
      destructive: false,
      searchHint: "find, list files by name or pattern",
      permissionClass: "file",
      requiresCheckpoint: false,
      auditOperation: "read",
      recovery: "rerun",
    },
    resource: (input) => (input.path === undefined ? input.pattern : `${input.path} ${input.pattern}`),
    run: find,
  };
}

async function find(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const { files } = context.sandbox;
  const base = resolvePath(context.facts.cwd, input.path ?? ".");
  const matches = compileGlob(input.pattern, { basename: false });
  if (!matches.ok) return failure(matches.error);
  const stat = await files.stat(base);
  if (!stat.ok) return failure(stat.error.message);
  if (stat.value.kind !== "directory") return failure(`${base} is not a directory`);
  const found: FileStat[] = [];
  let walked = 0;
  for await (const entry of files.walk(base, MAX_WALKED)) {
    context.signal.throwIfAborted();
    walked++;
    if (walked % 2_000 === 0) context.progress(0.5, `${walked} entries seen, ${found.length} match`);
    const relative = below(base, entry.path);
    if (relative === undefined || entry.kind === "directory" || isQuiet(relative, input.pattern)) continue;
    if (matches.value(relative)) found.push(entry);
  }
  return text(report(found, walked, input.pattern, base));
}

function report(found: FileStat[], walked: number, pattern: string, base: string): string {
  found.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1));
  const lines = found.slice(0, MAX_PATHS).map((entry) => entry.path);
  if (found.length === 0) lines.push(`No file matches ${pattern} in ${base}.`);
  if (found.length > MAX_PATHS) {
    lines.push(`(the newest ${MAX_PATHS} of ${found.length} files; use a narrower pattern or path)`);
  }
  if (walked >= MAX_WALKED) lines.push(`(stopped after ${MAX_WALKED} entries; use a narrower path)`);
  return lines.join("\n");
}
