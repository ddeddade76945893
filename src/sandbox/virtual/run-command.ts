import type { BashExecResult, CommandName } from "just-bash";
import type { ExecEvent, ExecRequest } from "../../contract/sandbox.ts";
import { bytesOfLatin1, createBashFiles } from "./bash-files.ts";
import type { FileTree } from "./file-tree.ts";
import { executionLimits, STOP_GRACE_MS } from "./limits.ts";
import { LINK_COMMANDS } from "./link-commands.ts";

/** As `timeout` of coreutils has it. */
const TIMED_OUT = 124;
/** The interpreter's Node build knows more commands than its Workers build; both offer the same here. */
const NOT_OFFERED: ReadonlySet<string> = new Set([
  "tar",
  "yq",
  "xan",
  "sqlite3",
  "python",
  "python3",
  "js-exec",
  "node",
]);
/** Bytes of one stdout or stderr event. */
const PIECE_BYTES = 64 * 1024;

export type Shell = {
  readonly tree: FileTree;
  readonly root: string;
  /** Is told the names of the commands once the interpreter is loaded. */
  offer(programs: readonly string[]): void;
};

/**
 * Runs one command line in a fresh interpreter. The interpreter gives its output when the command has ended, so the
 * events come together. Throws only when `signal` aborts.
 */
export async function* runCommand(shell: Shell, request: ExecRequest, signal: AbortSignal): AsyncGenerator<ExecEvent> {
  signal.throwIfAborted();
  const { Bash, defineCommand, getCommandNames } = await import("just-bash");
  const names = getCommandNames().filter((name) => !NOT_OFFERED.has(name));
  shell.offer(names);
  const deadline = new AbortController();
  const over = new AbortController();
  const timer = setTimeout(() => deadline.abort(), request.timeoutMs);
  const cwd = isDirectory(shell.tree, request.cwd) ? request.cwd : shell.root;
  try {
    const files = createBashFiles(shell.tree, over.signal);
    const bash = new Bash({
      fs: files.fs,
      cwd,
      commands: names as CommandName[],
      customCommands: [defineCommand("rm", LINK_COMMANDS.rm), defineCommand("mv", LINK_COMMANDS.mv)],
      executionLimitProfile: "hardened",
      executionLimits: executionLimits(request.timeoutMs),
      // It patches globals of the whole isolate while a command runs, other sessions' included; guests run no JavaScript.
      defenseInDepth: false,
    });
    const options = {
      cwd,
      env: { ...environment(shell.root, cwd), ...request.env },
      replaceEnv: true,
      rawScript: true,
      signal: AbortSignal.any([signal, deadline.signal]),
      ...(request.stdin === undefined ? {} : { stdin: request.stdin }),
    };
    const result = plainWords(await settle(bash.exec(request.command, options), options.signal));
    signal.throwIfAborted();
    // The interpreter looks at the clock too, and may see the deadline before the timer has had its turn.
    const timedOut = deadline.signal.aborted || (result.exitCode === TIMED_OUT && OWN_DEADLINE.test(result.stderr));
    const failed = files.failed.map((each) => `${each}\n`).join("");
    if (cwd !== request.cwd) yield line(`bash: ${request.cwd}: the working directory is gone; running in ${cwd}`);
    yield* pieces("stdout", outputBytes(result));
    yield* pieces("stderr", new TextEncoder().encode(result.stderr + failed + hint(result)));
    if (timedOut) yield line(`bash: the command was stopped after ${request.timeoutMs} ms`);
    const ended = result.env.PWD ?? cwd;
    yield {
      type: "exit",
      exitCode: timedOut ? TIMED_OUT : result.exitCode || (failed === "" ? 0 : 1),
      timedOut,
      cwd: isDirectory(shell.tree, ended) ? ended : shell.root,
    };
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** The result of a command, or an empty one when the interpreter does not stop in time or breaks. */
async function settle(work: Promise<BashExecResult>, stop: AbortSignal): Promise<BashExecResult> {
  const nothing = { stdout: "", stderr: "", exitCode: TIMED_OUT, env: {} };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let giveUp = (_: BashExecResult) => {};
  const stuck = new Promise<BashExecResult>((resolve) => {
    giveUp = resolve;
  });
  const arm = () => {
    timer = setTimeout(() => giveUp(nothing), STOP_GRACE_MS);
  };
  if (stop.aborted) arm();
  else stop.addEventListener("abort", arm, { once: true });
  const safe = work.catch(() => ({ ...nothing, exitCode: 126, stderr: "bash: the interpreter failed\n" }));
  try {
    return await Promise.race([safe, stuck]);
  } finally {
    stop.removeEventListener("abort", arm);
    clearTimeout(timer);
  }
}

/** What the interpreter says when it stops a script, or one command such as `sleep`, at its own deadline. */
const OWN_DEADLINE = /^bash: .{1,64} exceeded (its )?execution deadline/m;

/** Commands that only the interpreter's Node build has answer with words for its developers. */
const OTHER_BUILD = /^bash: (\S+): command not available in browser environments\..*$/gm;

function plainWords(result: BashExecResult): BashExecResult {
  const plain = (text: string) => text.replace(OTHER_BUILD, "bash: $1: command not found");
  return { ...result, stdout: plain(result.stdout), stderr: plain(result.stderr) };
}

function environment(root: string, cwd: string): Record<string, string> {
  return {
    HOME: root,
    PATH: "/usr/bin:/bin",
    PWD: cwd,
    SHELL: "/bin/bash",
    USER: "user",
    LANG: "C.UTF-8",
    TERM: "dumb",
    TMPDIR: "/tmp",
  };
}

function isDirectory(tree: FileTree, path: string): boolean {
  try {
    return tree.stat(path).kind === "directory";
  } catch {
    return false;
  }
}

/** Output is text unless a command made bytes of it. */
function outputBytes(result: BashExecResult): Uint8Array {
  const isBytes = result.stdoutKind === "bytes" || result.stdoutEncoding === "binary";
  return isBytes ? bytesOfLatin1(result.stdout) : new TextEncoder().encode(result.stdout);
}

/** Tells where to find what this shell has not: the programs named in `command not found` lines. */
function hint(result: BashExecResult): string {
  if (result.exitCode === 0 && result.stderr === "") return "";
  const output = `${result.stderr.slice(-20_000)}\n${result.stdout.slice(-20_000)}`;
  const missing = new Set(Array.from(output.matchAll(/bash: ([^\s:]{1,64}): command not found/g), (match) => match[1]));
  if (missing.size === 0) return "";
  const programs = [...missing].slice(0, 5).join(", ");
  return `bash: this workspace runs in the virtual sandbox, a bash interpreter without ${programs}; the \`http\` sandbox backend has a real shell\n`;
}

function* pieces(type: "stdout" | "stderr", bytes: Uint8Array): Generator<ExecEvent> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield { type, data: bytes.subarray(at, at + PIECE_BYTES) };
}

function line(text: string): ExecEvent {
  return { type: "stderr", data: new TextEncoder().encode(`${text}\n`) };
}
