import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { FileFault } from "./beneath.ts";

const run = promisify(execFile);

export type DiskLimits = { readonly maxBytes: number; readonly maxFiles: number };
/** A count that takes longer is not waited for after every command. */
const SLOW_MS = 50;
type Usage = { readonly bytes: number; readonly files: number };

/** How much the folders of one sandbox hold, as blocks on disk; counted by `du`, and only when something has changed. */
export class DiskUsage {
  readonly #folders: readonly string[];
  readonly #limits: DiskLimits;
  #known: Promise<Usage> | undefined;
  /** Bytes of writes since the last count. */
  #written = 0;
  #stale = false;
  /** Milliseconds of the last count. */
  #tookMs = 0;

  constructor(folders: readonly string[], limits: DiskLimits) {
    this.#folders = folders;
    this.#limits = limits;
  }

  /** Files have gone, or a command has run: the next question counts anew. */
  forget(): void {
    this.#stale = true;
  }

  /** Throws `no_space` when `bytes` more do not fit; counts them when they do. */
  async checkRoom(bytes: number, path: string): Promise<void> {
    const { maxBytes, maxFiles } = this.#limits;
    let now = await (this.#known ?? this.measure());
    // Counting a large workspace for every small write would cost more than the writes: count again only when it may matter.
    if (this.#stale && (now.bytes + this.#written + bytes > maxBytes * 0.9 || this.#written > maxBytes * 0.05)) {
      now = await this.measure();
    }
    if (now.bytes + this.#written + bytes > maxBytes) {
      throw new FileFault("no_space", `no space left: the workspace holds at most ${maxBytes} bytes: ${path}`);
    }
    if (now.files >= maxFiles) {
      throw new FileFault("no_space", `no space left: the workspace holds at most ${maxFiles} files: ${path}`);
    }
    this.#written += bytes;
  }

  /** Counts now. */
  measure(): Promise<Usage> {
    this.#stale = false;
    this.#written = 0;
    const started = performance.now();
    const counting = count(this.#folders).then((usage) => {
      this.#tookMs = performance.now() - started;
      return usage;
    });
    this.#known = counting;
    return counting;
  }

  /** Bytes at the last count; 0 before the first, so that a first command may not fill what it finds full. */
  async lastBytes(): Promise<number> {
    return (await this.#known)?.bytes ?? 0;
  }

  /** What is too much after a command. Where counting is slow the answer does not wait for it. */
  async afterCommand(): Promise<string | undefined> {
    if (this.#tookMs <= SLOW_MS) return this.excess(await this.measure());
    this.forget();
    void this.measure();
    return undefined;
  }

  /** What is too much, in words; undefined while it is not. */
  excess(usage: Usage): string | undefined {
    const { maxBytes, maxFiles } = this.#limits;
    if (usage.bytes > maxBytes) return `the workspace holds ${usage.bytes} bytes of at most ${maxBytes}`;
    if (usage.files > maxFiles) return `the workspace holds ${usage.files} files of at most ${maxFiles}`;
    return undefined;
  }
}

async function count(folders: readonly string[]): Promise<Usage> {
  const [bytes, files] = await Promise.all([du(["-B1"], folders), du(["--inodes"], folders)]);
  return { bytes, files };
}

/** Entries that go away meanwhile make `du` complain, but it counts on. */
async function du(options: readonly string[], folders: readonly string[]): Promise<number> {
  const args = ["-s", "-x", ...options, "--", ...folders];
  const { stdout } = await run("du", args, { timeout: 60_000 }).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? "",
  }));
  return stdout.split("\n").reduce((sum, line) => sum + (Number.parseInt(line, 10) || 0), 0);
}
