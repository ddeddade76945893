import { appendContent, readContent, writeContent } from "./content.ts";
import { fault } from "./fault.ts";
import { type Child, type FileStore, LAST_PINNED_INO, type Node } from "./file-store.ts";
import { isDevice } from "./made-up-nodes.ts";
import { createQuota, type Quota, type WorkspaceLimits } from "./quota.ts";
import { type Place, resolvePart, resolvePath } from "./resolve.ts";

/**
 * A POSIX-like file tree over a store: the one place that knows the rules. Synchronous; every change is one transaction;
 * failures are thrown as file faults. Paths are absolute; links are followed except by the operations named for links.
 * Permission bits are kept and shown, not enforced: there is one user.
 */
export class FileTree {
  readonly #store: FileStore;
  readonly #quota: Quota;
  readonly #now: () => number;

  constructor(store: FileStore, limits: WorkspaceLimits, now: () => number) {
    this.#store = store;
    this.#quota = createQuota(store, limits);
    this.#now = now;
  }

  stat(path: string): Node {
    return found(resolvePath(this.#store, path, true), path);
  }

  lstat(path: string): Node {
    return found(resolvePath(this.#store, path, false), path);
  }

  exists(path: string): boolean {
    try {
      return resolvePath(this.#store, path, true).node !== undefined;
    } catch {
      return false;
    }
  }

  /** Entries of a directory, by name. */
  list(path: string): readonly Child[] {
    const node = this.stat(path);
    if (node.kind !== "directory") throw fault("not_directory", path);
    return this.#sorted(node.ino);
  }

  /** Everything below a directory in path order, links not followed. */
  *walk(path: string): Generator<{ readonly path: string; readonly node: Node }> {
    const top = this.stat(path);
    if (top.kind !== "directory") throw fault("not_directory", path);
    const waiting = [{ path: path.replace(/\/+$/, ""), node: top }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (next.node !== top) yield next;
      if (next.node.kind !== "directory") continue;
      for (const { name, node } of this.#sorted(next.node.ino).toReversed()) {
        waiting.push({ path: `${next.path}/${name}`, node });
      }
    }
  }

  read(path: string): Uint8Array {
    const node = this.stat(path);
    if (node.kind === "directory") throw fault("is_directory", path);
    return readContent(this.#store, node);
  }

  /** Creates the file or replaces its content. */
  write(path: string, bytes: Uint8Array): void {
    this.#change(() => this.#write(path, bytes));
  }

  /** The same, making missing parents in the same transaction. */
  writeWithParents(path: string, bytes: Uint8Array): void {
    this.#change(() => {
      if (resolvePart(this.#store, path, true).left.length > 0) this.#mkdirs(path.slice(0, path.lastIndexOf("/")));
      this.#write(path, bytes);
    });
  }

  append(path: string, bytes: Uint8Array): void {
    this.#change(() => {
      const place = resolvePath(this.#store, path, true);
      if (!place.node) {
        this.#write(path, bytes);
        return;
      }
      const node = this.#writableFile(place.node, path);
      // Opening a file to append to it changes nothing yet.
      if (!node || bytes.length === 0) return;
      this.#quota.checkFile(node.size + bytes.length, path);
      this.#quota.take(bytes.length, 0, path);
      appendContent(this.#store, node, bytes);
      this.#store.save({ ...node, size: node.size + bytes.length, mtimeMs: this.#now() });
    });
  }

  mkdir(path: string): void {
    this.#change(() => {
      const place = resolvePath(this.#store, path, false);
      if (place.node) throw fault("exists", path);
      this.#create(place, path, { kind: "directory", mode: 0o755 });
    });
  }

  /** Makes a directory and its missing parents; one that exists is fine. */
  mkdirs(path: string): void {
    this.#change(() => this.#mkdirs(path));
  }

  symlink(target: string, path: string): void {
    this.#change(() => {
      if (target === "" || target.includes("\0")) throw fault("invalid", path, "bad link target");
      const place = resolvePath(this.#store, path, false);
      if (place.node) throw fault("exists", path);
      this.#create(place, path, { kind: "symlink", mode: 0o777, target: target.toWellFormed() });
    });
  }

  /** Gives a file a second name. */
  link(existing: string, path: string): void {
    this.#change(() => {
      const node = this.lstat(existing);
      if (node.kind === "directory" || node.ino < 0) throw fault("permission", existing, "operation not permitted");
      const place = resolvePath(this.#store, path, false);
      if (place.node) throw fault("exists", path);
      this.#nameIn(place, path, node.ino);
      this.#store.save({ ...node, links: node.links + 1 });
    });
  }

  readlink(path: string): string {
    const node = this.lstat(path);
    if (node.kind !== "symlink") throw fault("invalid", path);
    return node.target;
  }

  /** The path with every link resolved; all of it must exist. */
  realPath(path: string): string {
    const place = resolvePath(this.#store, path, true);
    found(place, path);
    return place.realPath;
  }

  /** The same, keeping parts that do not exist yet below their nearest real ancestor. */
  nearestRealPath(path: string): string {
    const { place, left } = resolvePart(this.#store, path, true);
    const parts = place.realPath.split("/").filter(Boolean);
    for (const part of left) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    const plain = `/${parts.join("/")}`;
    // `missing/../link` leads back to what exists: resolve what is left of the text.
    return left.includes("..") ? this.nearestRealPath(plain) : plain;
  }

  chmod(path: string, mode: number): void {
    this.#change(() => this.#store.save({ ...this.#ownNode(path), mode: mode & 0o7777 }));
  }

  utimes(path: string, mtimeMs: number): void {
    this.#change(() => this.#store.save({ ...this.#ownNode(path), mtimeMs }));
  }

  /** Removes a file, a link, an empty directory, or with `recursive` a tree. */
  remove(path: string, recursive: boolean): void {
    this.#change(() => {
      const place = resolvePath(this.#store, path, false);
      const node = this.#removable(place, path);
      if (node.kind === "directory" && !recursive && !this.#store.isEmpty(node.ino)) throw fault("not_empty", path);
      this.#store.unlink(place.parent.ino, place.name);
      this.#release(node);
    });
  }

  /** Copies a file, a link as a link, or with `recursive` a tree; a tree copied onto a directory is merged into it. */
  copy(source: string, target: string, recursive: boolean): void {
    this.#change(() => {
      const node = found(resolvePath(this.#store, source, !recursive), source);
      if (node.kind === "directory" && !recursive) throw fault("is_directory", source);
      const place = resolvePath(this.#store, target, true);
      const inside = place.trail.includes(node.ino) || (node.kind === "directory" && place.node?.ino === node.ino);
      if (inside) throw fault("invalid", target, "cannot copy a directory into itself");
      this.#copy(node, place, target);
    });
  }

  /** Renames; a file replaces a file, a directory an empty directory. */
  move(source: string, target: string): void {
    this.#change(() => {
      const from = resolvePath(this.#store, source, false);
      const node = this.#removable(from, source);
      const to = resolvePath(this.#store, target, false);
      if (to.trail.includes(node.ino)) throw fault("invalid", target, "cannot move a directory into itself");
      if (to.node?.ino === node.ino) return;
      if (to.node) {
        const old = this.#removable(to, target);
        if (old.kind === "directory" && node.kind !== "directory") throw fault("is_directory", target);
        if (old.kind !== "directory" && node.kind === "directory") throw fault("not_directory", target);
        if (old.kind === "directory" && !this.#store.isEmpty(old.ino)) throw fault("not_empty", target);
        this.#release(old);
      }
      this.#store.unlink(from.parent.ino, from.name);
      this.#nameIn(to, target, node.ino);
    });
  }

  #change(work: () => void): void {
    try {
      this.#store.transaction(work);
    } catch (error) {
      this.#quota.forget();
      throw error;
    }
  }

  #sorted(ino: number): readonly Child[] {
    return this.#store.children(ino).toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  /** The file to write to; undefined for a device, which swallows what it gets. */
  #writableFile(node: Node, path: string): Node | undefined {
    if (node.kind === "directory") throw fault("is_directory", path);
    if (isDevice(node)) return undefined;
    if (node.ino < 0) throw fault("permission", path);
    return node;
  }

  #write(path: string, bytes: Uint8Array): void {
    this.#quota.checkFile(bytes.length, path);
    const place = resolvePath(this.#store, path, true);
    const old = place.node && this.#writableFile(place.node, path);
    if (place.node && !old) return;
    if (old) this.#quota.take(bytes.length - old.size, 0, path);
    else this.#quota.take(bytes.length, 0, path);
    const node = old ?? this.#create(place, path, { kind: "file", mode: 0o644 });
    writeContent(this.#store, node.ino, bytes);
    this.#store.save({ ...node, size: bytes.length, mtimeMs: this.#now() });
  }

  #mkdirs(path: string): void {
    let at = "";
    for (const part of path.split("/").filter(Boolean)) {
      at += `/${part}`;
      const place = resolvePath(this.#store, at, true);
      if (!place.node) this.#create(place, at, { kind: "directory", mode: 0o755 });
      else if (place.node.kind !== "directory") throw fault("not_directory", at);
    }
  }

  #create(place: Place, path: string, fields: Pick<Node, "kind" | "mode"> & { readonly target?: string }): Node {
    this.#quota.take(0, 1, path);
    const node = { target: "", ...fields, size: 0, mtimeMs: this.#now(), links: 1 };
    const ino = this.#store.add(node);
    this.#nameIn(place, path, ino);
    return { ...node, ino };
  }

  #nameIn(place: Place, path: string, ino: number): void {
    if (place.parent.ino < 0) throw fault("permission", path);
    this.#store.link(place.parent.ino, place.name, ino);
  }

  #ownNode(path: string): Node {
    const node = this.stat(path);
    if (node.ino < 0) throw fault("permission", path);
    return node;
  }

  #removable(place: Place, path: string): Node {
    const node = found(place, path);
    if (node.ino <= LAST_PINNED_INO) throw fault("permission", path);
    return node;
  }

  /** Takes away one name's share of a node: the node goes with its last name, a directory with all that is in it. */
  #release(node: Node): void {
    if (node.links > 1 && node.kind !== "directory") {
      this.#store.save({ ...node, links: node.links - 1 });
      return;
    }
    if (node.kind === "directory") {
      for (const { name } of this.#store.children(node.ino)) {
        // Looked up one by one: two names of one file must see each other's count.
        const child = this.#store.lookup(node.ino, name);
        this.#store.unlink(node.ino, name);
        if (child) this.#release(child);
      }
    }
    this.#store.drop(node.ino);
    this.#quota.give(node.size, 1);
  }

  #copy(node: Node, place: Place, path: string): void {
    if (node.kind === "directory") {
      const into = place.node ?? this.#create(place, path, { kind: "directory", mode: node.mode });
      if (into.kind !== "directory") throw fault("not_directory", path);
      for (const child of this.#store.children(node.ino)) {
        const old = this.#store.lookup(into.ino, child.name);
        const next = { parent: into, name: child.name, node: old, realPath: "", trail: [] };
        this.#copy(child.node, next, `${path}/${child.name}`);
      }
      return;
    }
    if (place.node?.kind === "directory") throw fault("is_directory", path);
    if (place.node?.ino === node.ino) return;
    if (place.node?.kind === "file" && node.kind === "file") {
      this.#copyInto(node, place.node, path);
      return;
    }
    if (place.node) {
      const old = this.#removable(place, path);
      this.#store.unlink(place.parent.ino, place.name);
      this.#release(old);
    }
    const made = this.#create(place, path, node);
    if (node.kind === "file") this.#copyInto(node, made, path);
  }

  /** Overwrites content and keeps the rest: other names of the file see the change, as with `cp`. */
  #copyInto(node: Node, target: Node, path: string): void {
    const old = this.#writableFile(target, path);
    if (!old) return;
    this.#quota.take(node.size - old.size, 0, path);
    this.#store.dropChunks(old.ino, 0);
    if (node.ino > 0) this.#store.copyChunks(node.ino, old.ino);
    this.#store.save({ ...old, size: node.size, mtimeMs: this.#now() });
  }
}

function found(place: Place, path: string): Node {
  if (!place.node) throw fault("not_found", path);
  return place.node;
}
