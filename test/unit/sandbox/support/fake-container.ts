import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import type {
  ContainerBinding,
  ExecProcess,
  MachineStorage,
  StartOptions,
} from "../../../../sandbox-container/src/binding.ts";

export type FakeContainer = ContainerBinding & {
  readonly started: StartOptions[];
  readonly snapshots: number;
  /** The workspace on this machine's disk. */
  readonly workspace: string;
  /** Calls of `exec` that fail before the container answers, from its next start on. */
  slowStart(tries: number): void;
  close(): Promise<void>;
};

/**
 * `ctx.container` as Cloudflare's pages describe it, with real processes: each in a mount namespace of its own (bubblewrap)
 * in which `/workspace` and `/tmp` are folders that die with the container and come back from a snapshot. A second reading
 * of the same pages, not the service.
 */
export async function createFakeContainer(): Promise<FakeContainer> {
  const base = await mkdtemp(join(tmpdir(), "fake-container-"));
  const disk = join(base, "disk");
  const children = new Set<ChildProcess>();
  const started: StartOptions[] = [];
  let ready: Promise<unknown> = Promise.resolve();
  let running = false;
  let snapshots = 0;
  let slow = 0;

  const folders = async (): Promise<void> => {
    for (const each of ["workspace", "tmp"]) await mkdir(join(disk, each), { recursive: true });
  };
  await folders();
  return {
    get running() {
      return running;
    },
    get snapshots() {
      return snapshots;
    },
    images: { sandbox: "registry.test/sandbox@sha256:0" },
    started,
    workspace: join(disk, "workspace"),
    slowStart: (tries) => {
      slow = tries;
    },
    start(options) {
      if (running) throw new Error("start() cannot be called on a container that is already running.");
      started.push(options);
      running = true;
      ready = (async () => {
        await rm(disk, { recursive: true, force: true });
        if ("containerSnapshot" in options) {
          await cp(join(base, options.containerSnapshot.id), disk, { recursive: true, verbatimSymlinks: true });
        }
        await folders();
      })();
    },
    async destroy() {
      running = false;
      for (const child of children) killTree(child);
    },
    async snapshotContainer() {
      const id = `snapshot-${++snapshots}`;
      await cp(disk, join(base, id), { recursive: true, verbatimSymlinks: true });
      return { id, size: 0 };
    },
    async exec(command, options = {}) {
      if (!running) throw new Error("exec() cannot be called on a container that is not running.");
      if (command.length === 0) throw new TypeError("exec() needs a command");
      await ready;
      if (slow-- > 0) throw new Error("the container is not listening");
      return startProcess(disk, children, command, options);
    },
    async close() {
      for (const child of children) killTree(child);
      await rm(base, { recursive: true, force: true });
    },
  };
}

type ExecOptions = NonNullable<Parameters<ContainerBinding["exec"]>[1]>;

async function startProcess(
  disk: string,
  children: Set<ChildProcess>,
  command: string[],
  { cwd = "/", env = {}, stdin }: ExecOptions,
): Promise<ExecProcess> {
  const view = ["--dev-bind", "/", "/", "--tmpfs", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"];
  const system = ["usr", "bin", "lib", "lib64", "etc"].flatMap((each) => ["--ro-bind-try", `/${each}`, `/${each}`]);
  const mine = ["workspace", "tmp"].flatMap((each) => ["--bind", join(disk, each), `/${each}`]);
  const child = spawn("bwrap", [...view, ...system, ...mine, "--chdir", cwd, "--json-status-fd", "3", ...command], {
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env },
    stdio: [stdin ? "pipe" : "ignore", "pipe", "pipe", "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  const exitCode = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? 137)));
  const pid = await innerPid(child);
  if (stdin && child.stdin) {
    child.stdin.on("error", () => undefined);
    stdin.pipeTo(Writable.toWeb(child.stdin)).catch(() => undefined);
  }
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("a process without output");
  const web = (stream: Readable): ReadableStream => Readable.toWeb(stream) as unknown as ReadableStream; // Node's own type of the same thing
  const [out, problems] = [web(stdout), web(stderr)];
  return {
    ...{ stdout: out, stderr: problems, pid, exitCode },
    async output() {
      const [stdout, stderr] = await Promise.all([out, problems].map((each) => new Response(each).arrayBuffer()));
      const empty = new ArrayBuffer(0);
      return { stdout: stdout ?? empty, stderr: stderr ?? empty, exitCode: await exitCode };
    },
    kill(signal = 15) {
      if (child.exitCode === null) tryKill(pid, signal);
    },
  };
}

/** The number of the process itself; bubblewrap is its parent. */
function innerPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    let said = "";
    child.stdio[3]?.on("data", (data: Buffer) => {
      said += data.toString();
      const pid = /"child-pid":\s*(\d+)/.exec(said)?.[1];
      if (pid !== undefined) resolve(Number(pid));
    });
    child.once("exit", () => resolve(0));
  });
}

function killTree(child: ChildProcess): void {
  if (child.pid !== undefined) tryKill(child.pid, 9);
}

function tryKill(pid: number, signal: number): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Ended meanwhile.
  }
}

/** An object's storage; `alarmAt` is when its alarm would ring. */
export function createFakeStorage(): MachineStorage & { alarmAt: number | undefined } {
  const kept = new Map<string, unknown>();
  return {
    alarmAt: undefined,
    async get<T>(key: string) {
      return structuredClone(kept.get(key)) as T | undefined; // what was put under the key
    },
    async put(key, value) {
      kept.set(key, structuredClone(value));
    },
    async setAlarm(at) {
      this.alarmAt = at;
    },
    async deleteAll() {
      kept.clear();
    },
  };
}
