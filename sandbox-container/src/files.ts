import type { FileStat } from "../../src/contract/sandbox.ts";
import { REMOTE_ROOT, type WireStat } from "../../src/contract/sandbox-protocol.ts";
import { faultOfWords, parseEntries, parseStat, SHELL_FILES } from "../../src/shared/shell-files.ts";
import { refuse } from "./answers.ts";
import type { ContainerBinding } from "./binding.ts";

/** A read keeps the whole file in the Worker's memory (128 MB for all it does). */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

const READ = [
  'size=$(stat -L -c %s -- "$1") || exit 1',
  `[ -d "$1" ] || [ "$size" -le ${MAX_FILE_BYTES} ] || { echo "File too large" >&2; exit 1; }`,
  'exec cat -- "$1"',
].join("\n");
/** `$2` bytes will come; `$3`, when it is not empty, is the most the workspace may hold. */
const WRITE = [
  'folder=${1%/*}; [ -d "$1" ] && { echo "Is a directory" >&2; exit 1; }',
  'if [ -n "$folder" ] && [ ! -d "$folder" ]; then',
  '  [ -e "$folder" ] && { echo "Not a directory" >&2; exit 1; }',
  '  mkdir -p -- "$folder" || exit 1',
  "fi",
  'if [ -n "$3" ]; then',
  `  used=$(du -sb ${REMOTE_ROOT} | cut -f1); old=$(stat -L -c %s -- "$1" 2>/dev/null || echo 0)`,
  '  [ $((used - old + $2)) -le "$3" ] || { echo "No space left" >&2; exit 1; }',
  "fi",
  'exec cat >"$1"',
].join("\n");
const REMOVE_TREE = '[ -e "$1" ] || [ -L "$1" ] || { echo "No such file" >&2; exit 1; }; rm -rf -- "$1"';

/** The file routes of the protocol, each one process in the container. */
export function createFileRoutes(container: ContainerBinding, maxBytes: number | undefined) {
  const run = async (script: string, args: readonly string[], stdin?: ReadableStream) => {
    const options = { cwd: "/", env: { LC_ALL: "C" }, ...(stdin ? { stdin } : {}) };
    const process = await container.exec(["/bin/bash", "-c", script, "bash", ...args], options);
    const { stdout, stderr, exitCode } = await process.output();
    return { stdout, stderr: new TextDecoder().decode(stderr), exitCode };
  };
  /** Runs and answers with what `shape` makes of the output, or with what the errors say. */
  const answer = async (
    path: string,
    script: string,
    shape: (output: ArrayBuffer) => Response,
    more: { args?: readonly string[]; stdin?: ReadableStream; missingIsFine?: boolean } = {},
  ): Promise<Response> => {
    if (!path.startsWith("/") || path.includes("\0")) {
      return refuse("invalid", `an absolute path without null bytes is needed: ${path.replaceAll("\0", "\\0")}`);
    }
    const ran = await run(script, [path, ...(more.args ?? [])], more.stdin);
    const missing = more.missingIsFine && ran.stdout.byteLength > 0 && /No such file or directory/.test(ran.stderr);
    if (ran.exitCode === 0 || missing) return shape(ran.stdout);
    const fault = faultOfWords(ran.stderr, path);
    return refuse(fault?.code ?? "unavailable", fault?.message ?? `the file could not be used: ${path}`);
  };
  const text = (output: ArrayBuffer): string => new TextDecoder().decode(output);
  const entries = (path: string) => (output: ArrayBuffer) =>
    Response.json({ entries: parseEntries(text(output), path).sort(byPath).map(toWire) });

  return {
    read: (path: string) => answer(path, READ, (output) => new Response(output, { headers: BYTES })),
    async write(path: string, request: Request) {
      const content = new Uint8Array(await request.arrayBuffer());
      if (content.length > MAX_FILE_BYTES) return refuse("too_large", `file too large: ${path}`);
      const args = [String(content.length), String(maxBytes ?? "")];
      return answer(path, WRITE, nothing, { args, stdin: streamOf(content) });
    },
    remove: (path: string, recursive: boolean) =>
      answer(path, recursive ? REMOVE_TREE : SHELL_FILES.removeOne, nothing),
    stat: (path: string, follow: boolean) =>
      answer(path, follow ? SHELL_FILES.stat : SHELL_FILES.lstat, (output) =>
        Response.json(toWire(parseStat(text(output), path))),
      ),
    list: (path: string) => answer(path, SHELL_FILES.list, entries(path)),
    walk: (path: string, limit: number) =>
      answer(
        path,
        SHELL_FILES.walk,
        (output) => Response.json({ entries: parseEntries(text(output), path).map(toWire) }),
        {
          args: [String(limit)],
        },
      ),
    mkdir: (path: string) => answer(path, 'mkdir -p -- "$1"', nothing),
    realPath: (path: string) =>
      answer(path, SHELL_FILES.realPath, (output) => Response.json({ path: text(output) }), { missingIsFine: true }),
  };
}

const BYTES = { "content-type": "application/octet-stream" };

function nothing(): Response {
  return new Response(null, { status: 204 });
}

function toWire({ path, kind, size, mode, mtimeMs }: FileStat): WireStat {
  return { path, kind, size, mode, mtime_ms: mtimeMs };
}

function byPath(a: FileStat, b: FileStat): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

/** A byte stream, as the binding wants one. */
export function streamOf(content: Uint8Array): ReadableStream {
  return new Response(content.slice()).body ?? new ReadableStream({ start: (controller) => controller.close() });
}
