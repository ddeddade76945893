import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { sha256Hex } from "../shared/digest.ts";
import { decodeExactly, isBinary } from "./bytes.ts";
import { failure, text } from "./outcome.ts";
import { resolvePath } from "./paths.ts";
import { replaceText } from "./replace.ts";
import { lookBeforeChange } from "./seen.ts";

const Input = z.object({
  file_path: z.string().min(1).describe("Path of the file, absolute or relative to the working directory"),
  old_string: z.string().describe("The text to replace, exactly as it stands in the file"),
  new_string: z.string().describe("The text to put there; must differ from old_string"),
  replace_all: z.boolean().optional().describe("Replace every place instead of exactly one (default false)"),
});
type Input = z.infer<typeof Input>;

/** Replaces text in a file that was read before; the place must be unique unless all are meant (K-2). */
export function createEditTool(): Tool<Input> {
  return {
    name: "Edit",
    description:
      "Replaces text in a file. The file must have been read with Read in this session and be unchanged since. " +
      "old_string must match exactly, white space included and without the line numbers that Read shows, and must stand " +
      "exactly once in the file unless replace_all is set: take in enough lines around it. Both strings are literal, no " +
      "patterns. Use Write for a new file or to replace a whole file.",
    input: Input,
    metadata: {
      readOnly: false,
      concurrencySafe: false,
      destructive: true,
      searchHint: "edit, change, replace text in a file",
      permissionClass: "file",
      requiresCheckpoint: false,
      auditOperation: "edit",
      recovery: "unknown",
    },
    resource: (input) => input.file_path,
    run: edit,
  };
}

async function edit(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const { files } = context.sandbox;
  const path = resolvePath(context.facts.cwd, input.file_path);
  if (input.old_string === "") return failure("old_string is empty; create or replace a whole file with Write");
  if (input.old_string === input.new_string) return failure("old_string and new_string are the same");
  const target = await lookBeforeChange(files, context.facts, path);
  if (target.state === "refused") return failure(target.reason);
  if (target.state === "missing") return failure(`${path} does not exist; create it with Write`);
  const content = isBinary(target.bytes) ? undefined : decodeExactly(target.bytes);
  if (content === undefined) return failure(`${path} is not UTF-8 text; Edit would damage it`);
  const replaced = replaceText(content, input.old_string, input.new_string, input.replace_all ?? false);
  if (!replaced.ok) return failure(`${replaced.error} (${path})`);
  context.signal.throwIfAborted();
  const bytes = new TextEncoder().encode(replaced.value.content);
  const written = await files.writeFile(path, bytes);
  if (!written.ok) return failure(written.error.message);
  const line = content.slice(0, replaced.value.at).split("\n").length;
  const places = replaced.value.count === 1 ? `at line ${line}` : `in ${replaced.value.count} places`;
  return text(`Edited ${path} ${places}.`, [
    { kind: "file_seen", path: target.realPath, digest: await sha256Hex(bytes) },
  ]);
}
