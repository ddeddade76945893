import type { Bash, BashExecResult, CommandName } from "just-bash";
import type { ExecEvent, ExecRequest } from "../../contract/sandbox.ts";
import { type BashFiles, bytesOfLatin1, createBashFiles } from "./bash-files.ts";
import type { FileTree } from "./file-tree.ts";
import { runGit } from "./git/index.ts";
import { executionLimits, STOP_GRACE_MS } from "./limits.ts";
import { LINK_COMMANDS } from "./link-commands.ts";
import { createGuestFetch, type SandboxNetwork } from "./network.ts";
import { createOutputStream, type OutputStream, plainWords } from "./output-stream.ts";
import { streamed } from "./stream-plan.ts";

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

export type Shell = {
  readonly tree: FileTree;
  readonly root: string;
  /** Where `curl` may go; undefined: nowhere. */
  readonly network: SandboxNetwork | undefined;
  /** Is told the names of the commands once the interpreter is loaded. */
  offer(programs: readonly string[]): void;
};

/**
 * Runs one command line in a fresh interpreter. Output comes when a top-level statement has ended, see `streamed`; of a
 * script that cannot be cut safely it comes at the end. Throws only when `signal` aborts. spec
 */
export async function* runCommand(shell: Shell, request: ExecRequest, signal: AbortSignal): AsyncGenerator<ExecEvent> {
  signal.throwIfAborted();
  const deadline = new AbortController();
  const over = new AbortController();
  const startedAt = Date.now();
  const timer = setTimeout(() => deadline.abort(), request.timeoutMs);
  const cwd = isDirectory(shell.tree, request.cwd) ? request.cwd : shell.root;
  const output = createOutputStream();
  try {
    if (cwd !== request.cwd) yield line(`bash: ${request.cwd}: the working directory is gone; running in ${cwd}`);
    const files = createBashFiles(shell.tree, over.signal, output);
    const bash = await interpreter(shell, request, { files, cwd, over: over.signal });
    const options = {
      cwd,
      env: { ...environment(shell.root, cwd), ...request.env },
      replaceEnv: true,
      rawScript: true,
      signal: AbortSignal.any([signal, deadline.signal]),
      ...(request.stdin === undefined ? {} : { stdin: request.stdin }),
    };
    const result = yield* asItComes(settle(bash.exec(request.command, options), options.signal), output);
    signal.throwIfAborted();
    output.push("stdout", outputBytes(result));
    output.push("stderr", new TextEncoder().encode(plainWords(result.stderr)));
    // The interpreter looks at the clock too, and may see the deadline before the timer has had its turn.
    const late = Date.now() - startedAt >= request.timeoutMs;
    const timedOut = deadline.signal.aborted || (late && OWN_DEADLINE.test(output.tail()));
    const failed = files.failed.map((each) => `${each}\n`).join("");
    const words = failed + hint(output.tail(), shell.network !== undefined);
    output.push("stderr", new TextEncoder().encode(words));
    yield* output.take();
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

type Surroundings = { readonly files: BashFiles; readonly cwd: string; readonly over: AbortSignal };

/** An interpreter for one command line, with our commands and limits. */
async function interpreter(shell: Shell, request: ExecRequest, { files, cwd, over }: Surroundings): Promise<Bash> {
  const { Bash, defineCommand, getCommandNames } = await import("just-bash");
  const names = getCommandNames().filter((name) => !NOT_OFFERED.has(name));
  shell.offer([...names, "git", ...(shell.network ? ["curl"] : [])]);
  const bash = new Bash({
    fs: files.fs,
    cwd,
    commands: names as CommandName[],
    customCommands: [
      defineCommand("rm", LINK_COMMANDS.rm),
      defineCommand("mv", LINK_COMMANDS.mv),
      defineCommand("git", runGit),
    ],
    executionLimitProfile: "hardened",
    executionLimits: executionLimits(request.timeoutMs),
    // It patches globals of the whole isolate while a command runs, other sessions' included; guests run no JavaScript.
    defenseInDepth: false,
    ...(shell.network ? { fetch: createGuestFetch(shell.network, over) } : {}),
  });
  let first = true;
  bash.registerTransformPlugin({
    name: "streamed",
    // Called for `bash -c` and its like too, whose output is for whoever started them.
    transform: ({ ast }) => {
      const whole = first;
      first = false;
      return { ast: whole ? streamed(ast) : ast };
    },
  });
  return bash;
}

/** Commands run on microtasks: what they write before they wait for something is worth one event, not one each. */
const aTurn = () => new Promise<void>((resume) => setTimeout(resume, 0));

/** Yields output while `work` goes on; gives its result. */
async function* asItComes<T>(work: Promise<T>, output: OutputStream): AsyncGenerator<ExecEvent, T> {
  let ended = false;
  const end = work.finally(() => {
    ended = true;
  });
  while (!ended) {
    await Promise.race([end, output.ready().then(aTurn)]);
    yield* output.take();
  }
  return end;
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
const OWN_DEADLINE = /^(bash: .{1,64} exceeded (its )?execution deadline|(bash: )?execution aborted$)/m;

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
  return isBytes ? bytesOfLatin1(result.stdout) : new TextEncoder().encode(plainWords(result.stdout));
}

/** Tells where to find what this shell has not: the programs named in `command not found` lines. */
function hint(said: string, hasNetwork: boolean): string {
  const missing = new Set(Array.from(said.matchAll(/bash: ([^\s:]{1,64}): command not found/g), (match) => match[1]));
  if (missing.size === 0) return "";
  const programs = [...missing].slice(0, 5).join(", ");
  const network =
    !hasNetwork && (missing.has("curl") || missing.has("wget")) ? ", and network access is off in it" : "";
  return `bash: this workspace runs in the virtual sandbox, a bash interpreter without ${programs}${network}; the \`http\` sandbox backend has a real shell\n`;
}

function line(text: string): ExecEvent {
  return { type: "stderr", data: new TextEncoder().encode(`${text}\n`) };
}
