import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type ServerOptions = {
  /** What `buildBundle` made. */
  readonly bundleDir: string;
  readonly vars?: Readonly<Record<string, string>>;
  /** The data folder of an earlier server; without it a new one, removed by `stop`. */
  readonly persistTo?: string;
};

export type RunningServer = {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly dataDir: string;
  /** Ends the server in order. */
  stop(): Promise<void>;
  /** SIGKILL to the server and workerd at once, as in a power cut. The data stay. */
  kill(): Promise<void>;
  /** What it has printed so far. */
  output(): string;
};

const CHILD = fileURLToPath(new URL("./server-child.ts", import.meta.url));
/** The toolchain's own Node, which runs TypeScript whatever Node started the tests. */
const NODE = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url));
const BOOT_MS = 60_000;
const STOP_MS = 5_000;

/** Starts the real product as a process of its own on a free port. */
export async function startServer({ bundleDir, vars = {}, persistTo }: ServerOptions): Promise<RunningServer> {
  const dataDir = persistTo ?? (await mkdtemp(join(tmpdir(), "flyto-data-")));
  // A group of its own, so that workerd, a grandchild, dies with it.
  const child = spawn(NODE, [CHILD, bundleDir, dataDir, JSON.stringify(vars)], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  const keep = (part: Buffer): void => {
    printed += part.toString("utf8");
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const exited = new Promise<void>((resolve) =>
    child.once("exit", () => {
      // Whatever ended it, nothing of its group stays.
      signalGroup(child, "SIGKILL");
      resolve();
    }),
  );
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(child, "SIGKILL");
    await exited;
  };
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const slow = setTimeout(() => signalGroup(child, "SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(slow);
    if (persistTo === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const signal = AbortSignal.timeout(BOOT_MS);
    const gone = exited.then(() => Promise.reject(new Error("it ended while it started")));
    const [message] = await Promise.race([once(child, "message", { signal }), gone]);
    return { baseUrl: (message as { baseUrl: string }).baseUrl, dataDir, stop, kill, output: () => printed };
  } catch (error) {
    await kill();
    if (persistTo === undefined) await rm(dataDir, { recursive: true, force: true });
    throw new Error(`the server did not start: ${printed}`, { cause: error });
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It is gone already.
  }
}
