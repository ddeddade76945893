import { constants } from "node:fs";
import { type FileHandle, lstat, open, readlink } from "node:fs/promises";
import type { FileError } from "../src/contract/sandbox.ts";

/**
 * Paths are followed by hand, one directory handle at a time (`/proc/self/fd/N/name`), with no link ever followed by the
 * kernel: a command that swaps a folder for a link while a call runs cannot lead the server out of the workspace.
 */

/** Linux's own value; Node does not name it. */
const O_PATH = 0o10000000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const MAX_LINKS = 40;
const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

/** Folders of the guest's view that live on, and where they are here. */
export type Mounts = ReadonlyMap<string, string>;

export class FileFault extends Error {
  readonly fault: FileError;
  constructor(code: FileError["code"], message: string) {
    super(message);
    this.fault = { code, message };
  }
}

export type Place = {
  /** Holds the name; the place's own folder when `name` is empty. */
  readonly parent: FileHandle;
  /** Empty for a mount itself. */
  readonly name: string;
  /** What is there now. */
  readonly kind: "file" | "directory" | "symlink" | "other" | "none";
  readonly realPath: string;
  /** Parts below a folder that does not exist. */
  readonly left: readonly string[];
};

type Step = { readonly name: string; readonly handle: FileHandle };

/** The kernel's address of a name below an open folder. */
export function below(parent: FileHandle, name: string): string {
  return name === "" ? `/proc/self/fd/${parent.fd}/.` : `/proc/self/fd/${parent.fd}/${name}`;
}

/** Opens a folder below another without following a link. */
export function openFolder(parent: FileHandle, name: string): Promise<FileHandle> {
  return open(below(parent, name), DIRECTORY);
}

/** Follows `path` and gives the place to `use`; every handle is closed afterwards. Throws `FileFault`. */
export async function at<T>(
  mounts: Mounts,
  path: string,
  followLast: boolean,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const walk = new Walk(mounts, path);
  try {
    return await use(await walk.to(followLast));
  } finally {
    await walk.close();
  }
}

class Walk {
  readonly #mounts: Mounts;
  readonly #path: string;
  /** Folders from the mount down; none at `/`. */
  #steps: Step[] = [];
  readonly #opened: FileHandle[] = [];

  constructor(mounts: Mounts, path: string) {
    checkPath(path);
    this.#mounts = mounts;
    this.#path = path;
  }

  async to(followLast: boolean): Promise<Place> {
    const pending = this.#path.split("/").reverse();
    let links = 0;
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      if (part === "" || part === ".") continue;
      if (part === "..") {
        this.#steps.pop();
        continue;
      }
      const isLast = pending.every((each) => each === "" || each === ".");
      const top = this.#steps.at(-1);
      if (!top) {
        await this.#enterMount(part, pending);
        continue;
      }
      if (Buffer.byteLength(part) > MAX_NAME_BYTES) throw new FileFault("invalid", `file name is too long: ${part}`);
      const kind = await kindOf(top.handle, part);
      if (kind === "symlink" && (!isLast || followLast)) {
        if (++links > MAX_LINKS) throw new FileFault("loop", `too many levels of symbolic links: ${this.#path}`);
        const target = await readlink(below(top.handle, part));
        if (target.startsWith("/")) this.#steps = [];
        pending.push(...target.split("/").reverse());
        continue;
      }
      if (isLast && kind !== "directory") return this.#place(part, kind, []);
      if (kind === "none") return this.#place(part, kind, pending.reverse());
      if (kind !== "directory") throw new FileFault("not_directory", `not a directory: ${this.#path}`);
      this.#push(part, await openFolder(top.handle, part));
    }
    const last = this.#steps.at(-1);
    if (!last) throw outside("/");
    const above = this.#steps.at(-2);
    if (!above) return { ...this.#place("", "directory", []), parent: last.handle, realPath: this.#real() };
    return { parent: above.handle, name: last.name, kind: "directory", realPath: this.#real(), left: [] };
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((handle) => handle.close()));
  }

  async #enterMount(name: string, pending: readonly string[]): Promise<void> {
    const host = this.#mounts.get(`/${name}`);
    if (host === undefined) throw outside(normal([name, ...pending.toReversed()]));
    this.#push(name, await open(host, DIRECTORY));
  }

  #push(name: string, handle: FileHandle): void {
    this.#opened.push(handle);
    this.#steps.push({ name, handle });
  }

  #real(): string {
    return `/${this.#steps.map((step) => step.name).join("/")}`;
  }

  #place(name: string, kind: Place["kind"], left: readonly string[]): Place {
    const top = this.#steps.at(-1);
    if (!top) throw outside("/");
    return { parent: top.handle, name, kind, realPath: `${this.#real()}/${name}`, left };
  }
}

/** A path that leads out of what the server serves; `realPath` is where it leads. */
export class Outside extends FileFault {
  readonly realPath: string;
  constructor(realPath: string) {
    super("permission", `outside of the workspace: ${realPath}`);
    this.realPath = realPath;
  }
}

function outside(path: string): Outside {
  return new Outside(path);
}

function normal(parts: readonly string[]): string {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part);
  }
  return `/${kept.join("/")}`;
}

async function kindOf(parent: FileHandle, name: string): Promise<Place["kind"]> {
  try {
    const stat = await lstat(below(parent, name));
    if (stat.isDirectory()) return "directory";
    if (stat.isSymbolicLink()) return "symlink";
    return stat.isFile() ? "file" : "other";
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "none";
    throw error;
  }
}

function checkPath(path: string): void {
  if (!path.startsWith("/")) throw new FileFault("invalid", `path is not absolute: ${path}`);
  if (path.includes("\0")) throw new FileFault("invalid", `path has a null byte: ${path.replaceAll("\0", "\\0")}`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new FileFault("invalid", `path is too long: ${path.slice(0, 80)}…`);
}
