import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ExecBody, ExecExit } from "../src/contract/sandbox-protocol.ts";
import type { DiskUsage } from "./disk-usage.ts";
import { bubblewrapSettings, commandLine, type Guest, guestEnvironment } from "./guest.ts";
import { closeAll, makeInput, makePipes, type Pipe } from "./pipes.ts";

export type Output = (stream: "stdout" | "stderr", data: Uint8Array) => Promise<void>;

export type Running = {
  readonly guest: Guest;
  /** The root as the command sees it. */
  readonly root: string;
  /** A folder only the server may enter. */
  readonly privateFolder: string;
  readonly usage: DiskUsage;
  readonly maxOutputBytes: number;
};

/** As `timeout` of coreutils has it; as the shell says "cannot be run". */
const TIMED_OUT = 124;
const STOPPED = 126;
/** Counting files while a command runs takes at most a fifth of the time. */
const DISK_CHECK_MS = 250;
/** Without isolation a process that left the group may keep the pipes open, milliseconds. */
const STRAY_MS = 2_000;
const MAX_CWD_BYTES = 4096;

/**
 * Runs one command to its end and hands on its output as it comes. Everything it started is gone when this returns. Stops
 * it at its deadline, at a limit, and when `cancel` aborts. Throws when it could not be started.
 */
export async function runCommand(
  running: Running,
  body: ExecBody,
  output: Output,
  cancel: AbortSignal,
): Promise<ExecExit> {
  const { guest, root, usage } = running;
  const [out, err, cwd] = await makePipes(running.privateFolder, 3);
  if (!out || !err || !cwd) throw new Error("no pipes");
  const over = new AbortController();
  try {
    const child = start(running, body, { out, err, cwd });
    let limit: string | undefined;
    const kill = (why?: string) => {
      limit ??= why;
      killAll(child);
    };
    const left = { bytes: running.maxOutputBytes, exceeded: () => kill("its output is too long") };
    const pumps = Promise.all([pump(out.read, "stdout", left, output), pump(err.read, "stderr", left, output)]);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, body.timeout_ms);
    const stop = () => kill();
    cancel.addEventListener("abort", stop, { once: true });
    if (cancel.aborted) kill();
    const watch = watchDisk(usage, kill, over.signal);
    const code = await exitOf(child);
    clearTimeout(timer);
    cancel.removeEventListener("abort", stop);
    over.abort();
    killAll(child);
    await (guest.isolation === "none" ? Promise.race([pumps, delay(STRAY_MS)]) : pumps);
    await watch;
    const full = await usage.afterCommand();
    const reason = limit ?? full;
    if (reason !== undefined)
      await output("stderr", Buffer.from(`bash: ${limit ? "stopped" : "no space left"}: ${reason}\n`));
    const exit_code = timedOut ? TIMED_OUT : limit !== undefined ? STOPPED : code || (full === undefined ? 0 : 1);
    return { exit_code, timed_out: timedOut, cwd: endOf(cwd.read, root) };
  } finally {
    over.abort();
    for (const pipe of [out, err, cwd]) pipe.read.destroy();
  }
}

function start(running: Running, body: ExecBody, pipes: { out: Pipe; err: Pipe; cwd: Pipe }): ChildProcess {
  const { guest, root, privateFolder } = running;
  const env = { ...guestEnvironment(root), ...body.env };
  const stdin = body.stdin === undefined ? undefined : makeInput(privateFolder, body.stdin, 0o644);
  const script = makeInput(privateFolder, body.command, 0o644);
  const settings = makeInput(privateFolder, bubblewrapSettings(guest, env), 0o600);
  const fds = [pipes.out.write, pipes.err.write, pipes.cwd.write, script, settings];
  const [program = "", ...args] = commandLine(guest, body.cwd, root);
  try {
    return spawn(program, args, {
      stdio: [stdin ?? "ignore", ...fds],
      // The caller's variables may name libraries to load: they are set inside the sandbox, not for what makes it.
      env: guest.isolation === "none" ? env : { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
      cwd: "/",
      detached: true,
    });
  } finally {
    closeAll(stdin === undefined ? fds : [...fds, stdin]);
  }
}

/** The group is bubblewrap's; its death ends the process space inside, and with it whatever left the group. */
function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 128 + 9));
  });
}

type Left = { bytes: number; readonly exceeded: () => void };

async function pump(from: Socket, stream: "stdout" | "stderr", left: Left, output: Output): Promise<void> {
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      // no encoding is set: chunks are bytes
      const kept = chunk.subarray(0, Math.max(0, left.bytes));
      left.bytes -= chunk.length;
      if (kept.length > 0) await output(stream, kept);
      if (left.bytes < 0) return left.exceeded();
    }
  } catch {
    // The pipe was closed on this side: nobody listens any more.
  }
}

async function watchDisk(usage: DiskUsage, kill: (why: string) => void, over: AbortSignal): Promise<void> {
  const before = usage.lastBytes();
  let pause = DISK_CHECK_MS;
  while (!over.aborted) {
    await delay(pause, undefined, { signal: over }).catch(() => {});
    if (over.aborted) return;
    const started = performance.now();
    const now = await usage.measure();
    pause = Math.max(DISK_CHECK_MS, 4 * (performance.now() - started));
    const excess = usage.excess(now);
    // A command that makes room in a full workspace must get its chance.
    if (excess !== undefined && now.bytes > (await before)) return kill(`no space left: ${excess}`);
  }
}

/** What the shell told last, when it is a path. */
function endOf(from: Socket, root: string): string {
  const told: Buffer | null = from.read();
  const text = told && told.length <= MAX_CWD_BYTES ? told.toString() : "";
  return text.startsWith("/") && !text.includes("\0") ? text : root;
}
