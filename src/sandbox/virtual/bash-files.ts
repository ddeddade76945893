import type { BufferEncoding, ByteString, FileContent, FsStat, IFileSystem } from "just-bash";
import { toBase64 } from "../../shared/base64.ts";
import { toHex } from "../../shared/digest.ts";
import { fault, fileError } from "./fault.ts";
import type { Node } from "./file-store.ts";
import type { FileTree } from "./file-tree.ts";
import { type OutputStream, plainWords, STREAM_PATHS } from "./output-stream.ts";

/**
 * After so many file operations the interpreter lets other work of the object have a turn. In an object that wrote, the
 * turn comes when the writes are on disk (some 10 ms), so it is not free.
 */
const OPERATIONS_PER_TURN = 1_024;
/** Lines about failed redirections that are kept. */
const MAX_FAILED = 20;

type Encoding = BufferEncoding | null | undefined;
type WriteOptions = { readonly encoding?: BufferEncoding } | BufferEncoding | undefined;

export type BashFiles = {
  readonly fs: IFileSystem;
  /** Redirections that failed, one line each. */
  readonly failed: readonly string[];
};

/**
 * The interpreter's view of a file tree, for one command: once `over` aborts every operation fails, so that nothing of a
 * stopped command goes on behind the caller's back. What is written to the paths of `output` is the command's output.
 */
export function createBashFiles(tree: FileTree, over: AbortSignal, output: OutputStream): BashFiles {
  let operations = 0;
  const redirected = new Set<string>();
  const failed: string[] = [];
  /**
   * A redirection opens its target by writing nothing to it. One that fails, then or later, would end the interpreter and
   * lose all output so far, so it is noted instead; the caller adds the lines and makes the command fail.
   */
  function put(path: string, content: FileContent, options: WriteOptions, work: (bytes: Uint8Array) => void): void {
    if (path === STREAM_PATHS.stdout || path === STREAM_PATHS.stderr) {
      output.write(path, encode(typeof content === "string" ? plainWords(content) : content, encodingOf(options)));
      return;
    }
    if (content === "" && options === "binary") redirected.add(path);
    try {
      work(encode(content, encodingOf(options)));
    } catch (error) {
      if (!redirected.has(path)) throw error;
      const line = `bash: ${fileError(error, path).message}`;
      if (failed.length < MAX_FAILED && failed.at(-1) !== line) failed.push(line);
    }
  }
  async function turn<T>(work: () => T): Promise<T> {
    // Commands run on microtasks alone: without a pause timers (deadlines, heartbeats) would wait for the whole command.
    if (++operations % OPERATIONS_PER_TURN === 0) await new Promise((resume) => setTimeout(resume, 0));
    if (over.aborted) throw fault("unavailable", "", "the command was stopped");
    return work();
  }
  const fs: IFileSystem = {
    readFile: (path, options) => turn(() => decode(tree.read(path), encodingOf(options))),
    readFileBuffer: (path) => turn(() => tree.read(path)),
    // Carries bytes as one character each, see `ByteString`; far faster than what the interpreter does without it.
    readFileBytes: (path) => turn(() => latin1OfBytes(tree.read(path)) as unknown as ByteString),
    writeFile: (path, content, options) => turn(() => put(path, content, options, (bytes) => tree.write(path, bytes))),
    appendFile: (path, content, options) =>
      turn(() => put(path, content, options, (bytes) => tree.append(path, bytes))),
    exists: (path) => turn(() => tree.exists(path)),
    stat: (path) => turn(() => toFsStat(tree.stat(path))),
    lstat: (path) => turn(() => toFsStat(tree.lstat(path))),
    mkdir: (path, options) => turn(() => (options?.recursive ? tree.mkdirs(path) : tree.mkdir(path))),
    readdir: (path) => turn(() => tree.list(path).map(({ name }) => name)),
    readdirWithFileTypes: (path) =>
      turn(() =>
        tree.list(path).map(({ name, node }) => ({
          name,
          isFile: node.kind === "file",
          isDirectory: node.kind === "directory",
          isSymbolicLink: node.kind === "symlink",
        })),
      ),
    rm: (path, options) =>
      turn(() => {
        if (options?.force && !lexists(tree, path)) return;
        tree.remove(path, options?.recursive ?? false);
      }),
    cp: (source, target, options) => turn(() => tree.copy(source, target, options?.recursive ?? false)),
    mv: (source, target) => turn(() => tree.move(source, target)),
    resolvePath: joinPath,
    // Optional for globbing, which lists directories instead: 10,000 paths are not worth building for each command.
    getAllPaths: () => [],
    chmod: (path, mode) => turn(() => tree.chmod(path, mode)),
    symlink: (target, path) => turn(() => tree.symlink(target, path)),
    link: (existing, path) => turn(() => tree.link(existing, path)),
    readlink: (path) => turn(() => tree.readlink(path)),
    realpath: (path) => turn(() => tree.realPath(path)),
    utimes: (path, _atime, mtime) => turn(() => tree.utimes(path, mtime.getTime())),
  };
  return { fs, failed };
}

function lexists(tree: FileTree, path: string): boolean {
  try {
    tree.lstat(path);
    return true;
  } catch {
    return false;
  }
}

/** A path against a base, tidied by its text as the interpreter's own file systems do. */
function joinPath(base: string, path: string): string {
  const kept: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${base}/${path}`).split("/")) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part);
  }
  return `/${kept.join("/")}`;
}

function toFsStat(node: Node): FsStat {
  return {
    isFile: node.kind === "file",
    isDirectory: node.kind === "directory",
    isSymbolicLink: node.kind === "symlink",
    mode: node.mode,
    size: node.kind === "symlink" ? node.target.length : node.size,
    mtime: new Date(node.mtimeMs),
    dev: 1,
    ino: node.ino,
  };
}

function encodingOf(options: { readonly encoding?: Encoding } | BufferEncoding | undefined): Encoding {
  return typeof options === "string" ? options : options?.encoding;
}

/** Text as bytes. `binary` and `latin1` are the interpreter's way to carry bytes in a string. */
function encode(content: FileContent, encoding: Encoding): Uint8Array {
  if (typeof content !== "string") return content;
  switch (encoding) {
    case "binary":
    case "latin1":
    case "ascii":
      return bytesOfLatin1(content);
    case "base64":
      return bytesOfLatin1(atob(content));
    case "hex":
      return Uint8Array.from(content.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    default:
      return new TextEncoder().encode(content);
  }
}

function decode(bytes: Uint8Array, encoding: Encoding): string {
  switch (encoding) {
    case "binary":
    case "latin1":
    case "ascii":
      return latin1OfBytes(bytes);
    case "base64":
      return toBase64(bytes);
    case "hex":
      return toHex(bytes);
    default:
      // A byte order mark is content: dropping it would change the file on the way through `sed -i`.
      return new TextDecoder("utf-8", { ignoreBOM: true, fatal: false }).decode(bytes);
  }
}

/** One character a byte. */
export function bytesOfLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Arguments of one call are limited: pieces keep big files off the stack. */
const PIECE = 8192;

export function latin1OfBytes(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE) pieces.push(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  return pieces.join("");
}
