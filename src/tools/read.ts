import { z } from "zod";
import type { ToolFact } from "../contract/facts.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { toBase64 } from "../shared/base64.ts";
import { sha256Hex } from "../shared/digest.ts";
import { decodeLeniently, type ImageType, imageType, isBinary } from "./bytes.ts";
import { failure, text } from "./outcome.ts";
import { resolvePath } from "./paths.ts";

const DEFAULT_LINES = 2_000;
const LINE_CHARS = 2_000;
/** What model providers take per image. */
const IMAGE_BYTES = 5 * 1024 * 1024;
/** A file is read whole for its digest; an isolate has 128 MB for all that it does. */
const TEXT_BYTES = 10 * 1024 * 1024;

const Input = z.object({
  file_path: z.string().min(1).describe("Path of the file, absolute or relative to the working directory"),
  offset: z.number().int().min(0).optional().describe("Line to start at, counted from 1"),
  limit: z.number().int().min(1).optional().describe(`How many lines to show (default ${DEFAULT_LINES})`),
});
type Input = z.infer<typeof Input>;

/** Reads a text file with line numbers, or an image; what was read may be edited afterwards (K-2). */
export function createReadTool(): Tool<Input> {
  return {
    name: "Read",
    description:
      `Reads a file. Text comes with line numbers as \`cat -n\` prints them (they are not part of the file), up to ${DEFAULT_LINES} ` +
      `lines from the start unless offset and limit say otherwise; lines are cut at ${LINE_CHARS} characters. Images (PNG, ` +
      "JPEG, GIF, WebP up to 5 MB) are shown. Other binary files are refused, and so are directories: list those with " +
      "Glob or `ls` in Bash. A file must be read before Edit or Write may change it. To find text over many files use Grep.",
    input: Input,
    metadata: {
      readOnly: true,
      concurrencySafe: true,
      destructive: false,
      searchHint: "read, show, open, view a file or image",
      permissionClass: "file",
      requiresCheckpoint: false,
      auditOperation: "read",
      recovery: "rerun",
    },
    resource: (input) => input.file_path,
    run: read,
  };
}

async function read(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const { files } = context.sandbox;
  const path = resolvePath(context.facts.cwd, input.file_path);
  const stat = await files.stat(path);
  if (!stat.ok) return failure(stat.error.message);
  if (stat.value.kind === "directory") return failure(`${path} is a directory; list it with Glob or \`ls\` in Bash`);
  if (stat.value.size > TEXT_BYTES) {
    return failure(
      `${path} has ${stat.value.size} bytes, more than Read takes (10 MB); use Grep, or head and tail in Bash`,
    );
  }
  const [answer, real] = [await files.readFile(path), await files.realPath(path)];
  if (!answer.ok) return failure(answer.error.message);
  if (!real.ok) return failure(real.error.message);
  const bytes = answer.value;
  const seen: ToolFact = { kind: "file_seen", path: real.value, digest: await sha256Hex(bytes) };
  const image = imageType(bytes);
  if (image) return showImage(path, image, bytes, seen);
  if (isBinary(bytes)) return failure(`${path} is a binary file; Read shows text and images only`);
  if (bytes.length === 0) return text(`${path} exists and is empty.`, [seen]);
  return showLines(path, decodeLeniently(bytes), input, seen);
}

function showImage(path: string, type: ImageType, bytes: Uint8Array, seen: ToolFact): ToolOutcome {
  if (bytes.length > IMAGE_BYTES)
    return failure(`${path} is an image of ${bytes.length} bytes; at most 5 MB can be shown`);
  return {
    content: [{ type: "image", media_type: type, data: toBase64(bytes) }],
    isError: false,
    facts: [seen],
  };
}

function showLines(path: string, content: string, input: Input, seen: ToolFact): ToolOutcome {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const first = Math.max(1, input.offset ?? 1);
  if (first > lines.length)
    return failure(`offset ${first} is past the end of ${path}, which has ${lines.length} lines`);
  const shown = lines.slice(first - 1, first - 1 + (input.limit ?? DEFAULT_LINES));
  const numbered = shown.map((line, i) => `${String(first + i).padStart(6)}\t${cutLine(line)}`);
  const last = first + shown.length - 1;
  if (last < lines.length) {
    numbered.push(`(lines ${first} to ${last} of ${lines.length}; read on with offset ${last + 1})`);
  }
  return text(numbered.join("\n"), [seen]);
}

function cutLine(line: string): string {
  const plain = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (plain.length <= LINE_CHARS) return plain;
  return `${plain.slice(0, LINE_CHARS)} (line cut: ${plain.length - LINE_CHARS} more characters)`;
}
