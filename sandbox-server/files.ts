import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import type { FileError } from "../src/contract/sandbox.ts";
import type { WireStat } from "../src/contract/sandbox-protocol.ts";
import { at, below, FileFault, type Mounts, Outside, openFolder, type Place } from "./beneath.ts";
import type { DiskUsage } from "./disk-usage.ts";

export type FileSpace = {
  readonly mounts: Mounts;
  /** Whom new files belong to; undefined when it is the server's own user. */
  readonly uid: number | undefined;
  readonly usage: DiskUsage;
  readonly maxFileBytes: number;
};

/** Deeper folders are not walked: each level holds a handle. */
const MAX_DEPTH = 512;

/** The bytes of a file. */
export function readFile(space: FileSpace, path: string): Promise<Buffer> {
  return at(space.mounts, path, true, async (place) => {
    const file = await openFile(place, path, constants.O_RDONLY);
    try {
      const { size } = await file.stat();
      if (size > space.maxFileBytes) throw tooLarge(path, space.maxFileBytes);
      const content = await file.readFile();
      if (content.length > space.maxFileBytes) throw tooLarge(path, space.maxFileBytes);
      return content;
    } finally {
      await file.close();
    }
  });
}

/** Creates the file and its missing parents, or replaces its content; its mode stays. */
export function writeFile(space: FileSpace, path: string, content: Uint8Array): Promise<void> {
  return at(space.mounts, path, true, async (place) => {
    await space.usage.checkRoom(content.length, path);
    const missing = place.kind === "none" ? place.left : [];
    if (missing.includes("..")) throw new FileFault("not_found", `no such file or directory: ${path}`);
    await makeFolders(space, place, missing, async (parent, name) => {
      const file = await openFile({ ...place, parent, name }, path, constants.O_WRONLY | constants.O_CREAT);
      try {
        if (space.uid !== undefined) await file.chown(space.uid, space.uid);
        await file.truncate(0);
        await file.writeFile(content);
      } finally {
        await file.close();
        space.usage.forget();
      }
    });
  });
}

/** Makes a folder and its missing parents; one that exists already is fine. */
export function makeFolder(space: FileSpace, path: string): Promise<void> {
  return at(space.mounts, path, true, async (place) => {
    if (place.kind === "directory") return;
    if (place.kind !== "none") throw new FileFault("exists", `file already exists: ${path}`);
    if (place.left.includes("..")) throw new FileFault("not_found", `no such file or directory: ${path}`);
    await space.usage.checkRoom(0, path);
    await makeFolders(space, place, [...place.left, "."], async () => {});
  });
}

export function statFile(space: FileSpace, path: string, follow: boolean): Promise<WireStat> {
  return at(space.mounts, path, follow, async (place) => {
    if (place.kind === "none") throw new FileFault("not_found", `no such file or directory: ${path}`);
    return toStat(path, await lstat(below(place.parent, place.name)));
  });
}

/** Entries of a folder, by name. */
export function listFolder(space: FileSpace, path: string): Promise<WireStat[]> {
  return at(space.mounts, path, true, async (place) => {
    if (place.kind === "none") throw new FileFault("not_found", `no such file or directory: ${path}`);
    if (place.kind !== "directory") throw new FileFault("not_directory", `not a directory: ${path}`);
    const folder = await openFolder(place.parent, place.name);
    try {
      return await entriesOf(folder, path.replace(/\/+$/, ""));
    } finally {
      await folder.close();
    }
  });
}

/** Everything below a folder, depth first by name, links not followed; at most `limit` entries. */
export function walkFolder(space: FileSpace, path: string, limit: number): Promise<WireStat[]> {
  return at(space.mounts, path, true, async (place) => {
    if (place.kind !== "directory") throw new FileFault("not_directory", `not a directory: ${path}`);
    const found: WireStat[] = [];
    await walkInto(place.parent, place.name, path.replace(/\/+$/, ""), { found, limit, depth: 0 });
    return found;
  });
}

/** Removes a file, a link, an empty folder, or with `recursive` a tree. */
export function removeFile(space: FileSpace, path: string, recursive: boolean): Promise<void> {
  return at(space.mounts, path, false, async (place) => {
    if (place.kind === "none") throw new FileFault("not_found", `no such file or directory: ${path}`);
    if (place.name === "") throw new FileFault("permission", `the workspace itself stays: ${path}`);
    space.usage.forget();
    if (place.kind !== "directory") return await unlink(below(place.parent, place.name));
    if (!recursive) return await rmdir(below(place.parent, place.name));
    await removeTree(place.parent, place.name);
  });
}

/** The path with every link resolved; parts that do not exist are kept. A path that leads out is told as it is. */
export async function realPath(space: FileSpace, path: string): Promise<string> {
  try {
    return await at(space.mounts, path, true, async (place) => [place.realPath, ...place.left].join("/"));
  } catch (error) {
    if (error instanceof Outside) return error.realPath;
    throw error;
  }
}

/** What the contract calls a thrown value. */
export function toFileError(error: unknown, path: string): FileError {
  if (error instanceof FileFault) return error.fault;
  const errno = error instanceof Error && "code" in error ? String(error.code) : "";
  const [code, words] = ERRNO[errno] ?? (["unavailable", "the workspace could not be used"] as const);
  return { code, message: `${words}: ${path}` };
}

const ERRNO: Readonly<Record<string, readonly [FileError["code"], string]>> = {
  ENOENT: ["not_found", "no such file or directory"],
  EISDIR: ["is_directory", "is a directory"],
  ENOTDIR: ["not_directory", "not a directory"],
  EEXIST: ["exists", "file already exists"],
  ENOTEMPTY: ["not_empty", "directory not empty"],
  EACCES: ["permission", "permission denied"],
  EPERM: ["permission", "operation not permitted"],
  EXDEV: ["permission", "outside of the workspace"],
  ELOOP: ["loop", "too many levels of symbolic links"],
  ENOSPC: ["no_space", "no space left on the machine"],
  EDQUOT: ["no_space", "no space left on the machine"],
  EFBIG: ["too_large", "file too large"],
  ENXIO: ["invalid", "not a regular file"],
  ENAMETOOLONG: ["invalid", "file name is too long"],
};

/** A regular file, never through a link, never waiting for the other end of a pipe. */
async function openFile(place: Place, path: string, flags: number): Promise<FileHandle> {
  if (place.kind === "directory") throw new FileFault("is_directory", `is a directory: ${path}`);
  if (place.kind === "none" && (flags & constants.O_CREAT) === 0) {
    throw new FileFault("not_found", `no such file or directory: ${path}`);
  }
  const guarded = flags | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(below(place.parent, place.name), guarded, 0o644);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new FileFault("invalid", `not a regular file: ${path}`);
}

/** Makes the place's folder and those of `rest` but the last name, then hands that name with its folder to `use`. */
async function makeFolders(
  space: FileSpace,
  place: Place,
  rest: readonly string[],
  use: (parent: FileHandle, name: string) => Promise<void>,
): Promise<void> {
  const [name, ...more] = [place.name, ...rest].filter(
    (part, i, all) => part !== "" && (part !== "." || i === all.length - 1),
  );
  if (name === undefined || more.length === 0) return await use(place.parent, place.name);
  await mkdir(below(place.parent, name)).catch((error) => {
    if (toFileError(error, name).code !== "exists") throw error;
  });
  const folder = await openFolder(place.parent, name);
  try {
    if (space.uid !== undefined) await chownFolder(folder, space.uid);
    space.usage.forget();
    await makeFolders(space, { ...place, parent: folder, name: more[0] ?? "" }, more.slice(1), use);
  } finally {
    await folder.close();
  }
}

/** An `O_PATH` handle cannot be chowned itself; opening `.` below it names the same folder. */
async function chownFolder(folder: FileHandle, uid: number): Promise<void> {
  const readable = await open(below(folder, ""), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await readable.chown(uid, uid);
  } finally {
    await readable.close();
  }
}

type Walk = { readonly found: WireStat[]; readonly limit: number; readonly depth: number };

async function walkInto(parent: FileHandle, name: string, path: string, walk: Walk): Promise<void> {
  if (walk.depth > MAX_DEPTH) return;
  // A folder may go away, or turn into a link, while the walk is on its way: then nothing is below it.
  const folder = await openFolder(parent, name).catch(() => undefined);
  if (!folder) return;
  try {
    for (const entry of await entriesOf(folder, path)) {
      if (walk.found.length >= walk.limit) return;
      walk.found.push(entry);
      if (entry.kind !== "directory") continue;
      await walkInto(folder, entry.path.slice(path.length + 1), entry.path, { ...walk, depth: walk.depth + 1 });
    }
  } finally {
    await folder.close();
  }
}

async function entriesOf(folder: FileHandle, path: string): Promise<WireStat[]> {
  const names = (await readdir(below(folder, ""))).sort((a, b) => (a < b ? -1 : 1));
  const entries: WireStat[] = [];
  for (let first = 0; first < names.length; first += 64) {
    const some = names.slice(first, first + 64).map(async (name) => {
      const stat = await lstat(below(folder, name)).catch(() => undefined);
      return stat ? [toStat(`${path}/${name}`, stat)] : [];
    });
    entries.push(...(await Promise.all(some)).flat());
  }
  return entries;
}

/** `rm` goes through open folders as well, and does not run out of handles or stack in a deep tree. */
async function removeTree(parent: FileHandle, name: string): Promise<void> {
  const child = spawn("rm", ["-rf", "--", `/proc/self/fd/3/${name}`], {
    stdio: ["ignore", "ignore", "ignore", parent.fd],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new FileFault("permission", `could not be removed wholly: ${name}`);
}

type Stat = Awaited<ReturnType<typeof lstat>>;

function toStat(path: string, stat: Stat): WireStat {
  const kind = stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "file";
  const mtime_ms = Math.trunc(Number(stat.mtimeMs));
  return { path, kind, size: Number(stat.size), mode: Number(stat.mode) & 0o7777, mtime_ms };
}

function tooLarge(path: string, most: number): FileFault {
  return new FileFault("too_large", `file too large: at most ${most} bytes: ${path}`);
}
