import { fault } from "./fault.ts";
import { type FileStore, type Node, ROOT_INO } from "./file-store.ts";

/** As many links as Linux follows. */
const MAX_LINKS = 40;
/** NAME_MAX and PATH_MAX of Linux, bytes. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 4096;

/** Where a path leads: the directory that has (or would have) the name, and the node if there is one. */
export type Place = {
  readonly parent: Node;
  /** Empty for `/` itself. */
  readonly name: string;
  readonly node: Node | undefined;
  /** The path with its links resolved. */
  readonly realPath: string;
  /** Numbers of the directories on the way, `/` first. */
  readonly trail: readonly number[];
};

/** A path that ends in the middle: `left` are the parts below the nearest directory that exists. */
export type Partial = { readonly place: Place; readonly left: readonly string[] };

type Step = { readonly name: string; readonly node: Node };

/** Follows a path; every part but the last must exist. Throws a file fault. */
export function resolvePath(store: FileStore, path: string, followLast: boolean): Place {
  const { place, left } = resolvePart(store, path, followLast);
  if (left.length > 0) throw fault("not_found", path);
  return place;
}

/** Follows a path as far as it exists. Throws on loops, bad paths, and files used as directories. */
export function resolvePart(store: FileStore, path: string, followLast: boolean): Partial {
  checkPath(path);
  const root = store.node(ROOT_INO);
  if (!root) throw fault("unavailable", path);
  const pending = path.split("/").reverse();
  let steps: Step[] = [{ name: "", node: root }];
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (steps.length > 1) steps.pop();
      continue;
    }
    const name = part.toWellFormed();
    checkName(name, path);
    const top = steps.at(-1)?.node ?? root;
    if (top.kind !== "directory") throw fault("not_directory", path);
    const node = store.lookup(top.ino, name);
    const isLast = pending.every((each) => each === "" || each === ".");
    if (!node) return { place: toPlace(steps, { name, node }), left: isLast ? [] : pending.reverse() };
    if (node.kind === "symlink" && (!isLast || followLast)) {
      if (++links > MAX_LINKS) throw fault("loop", path);
      if (node.target.startsWith("/")) steps = [{ name: "", node: root }];
      pending.push(...node.target.split("/").reverse());
      continue;
    }
    steps.push({ name, node });
  }
  const last = steps.pop() ?? { name: "", node: root };
  return { place: toPlace(steps.length > 0 ? steps : [last], last), left: [] };
}

function toPlace(steps: readonly Step[], last: { readonly name: string; readonly node: Node | undefined }): Place {
  const parent = steps.at(-1)?.node ?? last.node;
  if (!parent) throw fault("unavailable", last.name);
  const folders = steps.map((step) => step.name).filter(Boolean);
  return {
    parent,
    name: last.name,
    node: last.node,
    realPath: `/${[...folders, last.name].filter(Boolean).join("/")}`,
    trail: steps.map((step) => step.node.ino),
  };
}

function checkPath(path: string): void {
  if (!path.startsWith("/")) throw fault("invalid", path, "path is not absolute");
  if (path.includes("\0")) throw fault("invalid", path.replaceAll("\0", "\\0"), "path has a null byte");
  if (byteLength(path) > MAX_PATH_BYTES) throw fault("invalid", `${path.slice(0, 80)}…`, "path is too long");
}

function checkName(name: string, path: string): void {
  if (byteLength(name) > MAX_NAME_BYTES) throw fault("invalid", `${path.slice(0, 80)}…`, "file name is too long");
}

/** UTF-8 bytes; short texts are not encoded to be told short enough. */
function byteLength(text: string): number {
  return text.length * 3 <= MAX_NAME_BYTES ? text.length : new TextEncoder().encode(text).length;
}
