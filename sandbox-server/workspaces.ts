import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, readdir, readFile, rename, stat, utimes, writeFile } from "node:fs/promises";
import { z } from "zod";
import { REMOTE_ROOT, REMOTE_TMP, SandboxId } from "../src/contract/sandbox-protocol.ts";
import type { Mounts } from "./beneath.ts";
import { DiskUsage } from "./disk-usage.ts";
import type { Settings } from "./settings.ts";

export type Workspace = {
  readonly id: string;
  readonly mounts: Mounts;
  readonly workFolder: string;
  readonly tmpFolder: string;
  readonly uid: number | undefined;
  readonly usage: DiskUsage;
  readonly maxBytes: number;
  /** Commands that run, with what stops each. */
  readonly execs: Map<string, AbortController>;
};

/** What is kept about a sandbox beside its files. */
const Meta = z.object({ uid: z.int().optional(), max_bytes: z.int() });
type Meta = z.infer<typeof Meta>;

/** Each sandbox's commands run as a user of their own where the server may choose: limits count by user. */
const FIRST_UID = 200_000;
const GONE = ".gone-";

/**
 * The sandboxes on disk: `<dir>/<id>/{meta.json,work,tmp}`. A restarted server finds them again; one nobody used for
 * `idleSeconds` is removed.
 */
export class Workspaces {
  readonly #dir: string;
  readonly #settings: Settings;
  readonly #open = new Map<string, Promise<Workspace | undefined>>();
  readonly #uids = new Set<number>();
  #count = 0;

  constructor(settings: Settings) {
    this.#dir = `${settings.dir}/sandboxes`;
    this.#settings = settings;
  }

  /** Reads what is there. */
  async load(): Promise<void> {
    await mkdir(this.#dir, { recursive: true });
    // Commands of another user go through these folders to their own; names in them are no secret, contents are.
    for (const folder of [this.#settings.dir, this.#dir]) await chmod(folder, 0o711);
    for (const name of await readdir(this.#dir)) {
      if (name.startsWith(GONE)) await removeFolder(`${this.#dir}/${name}`);
      const meta = await this.#meta(name);
      if (meta?.uid !== undefined) this.#uids.add(meta.uid);
      if (meta) this.#count += 1;
    }
  }

  /** The sandbox of this id, made when it does not exist; `full` when there are too many. */
  async create(id: string, maxBytes: number): Promise<{ workspace: Workspace; created: boolean } | "full"> {
    const known = await this.find(id);
    if (known) return { workspace: known, created: false };
    if (this.#count >= this.#settings.maxSandboxes) return "full";
    const before = this.#open.get(id);
    if (before) return await this.create(id, maxBytes);
    const making = this.#make(id, Math.min(maxBytes, this.#settings.maxDiskBytes));
    this.#open.set(id, making);
    making.catch(() => this.#open.delete(id));
    return { workspace: await making, created: true };
  }

  /** The sandbox of this id; counts as a use. */
  async find(id: string): Promise<Workspace | undefined> {
    let opening = this.#open.get(id);
    if (!opening) {
      opening = this.#meta(id).then((meta) => (meta ? this.#toWorkspace(id, meta) : undefined));
      this.#open.set(id, opening);
    }
    const workspace = await opening.catch(() => undefined);
    if (!workspace && this.#open.get(id) === opening) this.#open.delete(id);
    const now = new Date();
    if (workspace) await utimes(`${this.#dir}/${id}/meta.json`, now, now).catch(() => {});
    return workspace;
  }

  /** Stops its commands and removes its files. */
  async remove(id: string): Promise<void> {
    const workspace = await this.find(id);
    if (!workspace) return;
    for (const exec of workspace.execs.values()) exec.abort();
    this.#open.delete(id);
    const gone = `${this.#dir}/${GONE}${randomUUID()}`;
    await rename(`${this.#dir}/${id}`, gone);
    this.#count -= 1;
    await removeFolder(gone);
    if (workspace.uid !== undefined) this.#uids.delete(workspace.uid);
  }

  /** Removes what nobody used since `before`, milliseconds since the epoch. */
  async removeIdle(before: number): Promise<void> {
    for (const id of await readdir(this.#dir)) {
      if (!SandboxId.safeParse(id).success) continue;
      const used = await stat(`${this.#dir}/${id}/meta.json`).catch(() => undefined);
      if (!used || used.mtimeMs > before) continue;
      const open = await this.#open.get(id);
      if (!open || open.execs.size === 0) await this.remove(id);
    }
  }

  async #meta(id: string): Promise<Meta | undefined> {
    if (!SandboxId.safeParse(id).success) return undefined;
    const text = await readFile(`${this.#dir}/${id}/meta.json`, "utf8").catch(() => undefined);
    return text === undefined ? undefined : Meta.parse(JSON.parse(text));
  }

  async #make(id: string, maxBytes: number): Promise<Workspace> {
    const meta: Meta = { max_bytes: maxBytes, ...(process.getuid?.() === 0 ? { uid: this.#freeUid() } : {}) };
    const folder = `${this.#dir}/${id}`;
    await mkdir(folder, { recursive: true, mode: 0o711 });
    for (const name of ["work", "tmp"]) {
      await mkdir(`${folder}/${name}`, { recursive: true, mode: 0o700 });
      if (meta.uid !== undefined) await chown(`${folder}/${name}`, meta.uid, meta.uid);
    }
    await writeFile(`${folder}/meta.json`, JSON.stringify(meta), { mode: 0o600 });
    this.#count += 1;
    return this.#toWorkspace(id, meta);
  }

  #freeUid(): number {
    let uid = FIRST_UID;
    while (this.#uids.has(uid)) uid += 1;
    this.#uids.add(uid);
    return uid;
  }

  #toWorkspace(id: string, meta: Meta): Workspace {
    const [workFolder, tmpFolder] = [`${this.#dir}/${id}/work`, `${this.#dir}/${id}/tmp`];
    const limits = { maxBytes: meta.max_bytes, maxFiles: this.#settings.maxDiskFiles };
    return {
      id,
      mounts: new Map([
        [REMOTE_ROOT, workFolder],
        [REMOTE_TMP, tmpFolder],
      ]),
      workFolder,
      tmpFolder,
      uid: meta.uid,
      usage: new DiskUsage([workFolder, tmpFolder], limits),
      maxBytes: meta.max_bytes,
      execs: new Map(),
    };
  }
}

/** `rm` goes through open folders: nothing a command left, or still does, leads it elsewhere. */
async function removeFolder(folder: string): Promise<void> {
  await once(spawn("rm", ["-rf", "--one-file-system", "--", folder], { stdio: "ignore" }), "exit");
}
