import { z } from "zod";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { sha256Hex } from "../shared/digest.ts";
import { failure, text } from "./outcome.ts";
import { resolvePath } from "./paths.ts";
import { lookBeforeChange } from "./seen.ts";

const Input = z.object({
  file_path: z.string().min(1).describe("Path of the file, absolute or relative to the working directory"),
  content: z.string().describe("The whole new content"),
});
type Input = z.infer<typeof Input>;

/** Writes a whole file; an existing one must have been read (K-2). */
export function createWriteTool(): Tool<Input> {
  return {
    name: "Write",
    description:
      "Writes a file, creating missing directories and replacing what is there. A file that exists must have been read " +
      "with Read in this session and be unchanged since. To change part of a file use Edit: it is shorter and safer.",
    input: Input,
    metadata: {
      readOnly: false,
      concurrencySafe: false,
      destructive: true,
      searchHint: "write, create, replace a file",
      permissionClass: "file",
      requiresCheckpoint: false,
      auditOperation: "write",
      recovery: "unknown",
    },
    resource: (input) => input.file_path,
    run: write,
  };
}

async function write(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const { files } = context.sandbox;
  const path = resolvePath(context.facts.cwd, input.file_path);
  if (input.file_path.endsWith("/")) return failure(`${input.file_path} names a directory, not a file`);
  const target = await lookBeforeChange(files, context.facts, path);
  if (target.state === "refused") return failure(target.reason);
  context.signal.throwIfAborted();
  const bytes = new TextEncoder().encode(input.content);
  const written = await files.writeFile(path, bytes);
  if (!written.ok) return failure(written.error.message);
  const verb = target.state === "missing" ? "Created" : "Replaced";
  return text(`${verb} ${path} (${bytes.length} bytes).`, [
    { kind: "file_seen", path: target.realPath, digest: await sha256Hex(bytes) },
  ]);
}
