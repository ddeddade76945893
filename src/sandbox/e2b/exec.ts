import type { Result } from "../../contract/result.ts";
import type { ExecEvent, ExecRequest } from "../../contract/sandbox.ts";
import { toBase64 } from "../../shared/base64.ts";
import { createStderrFilter, wrapCommand } from "../../shared/shell-wrap.ts";
import type { Connection } from "./connection.ts";
import { fromBase64 } from "./envelope.ts";
import { upload } from "./file-transfer.ts";
import { call, type Failure, type Live, type SandboxFetch, stream } from "./rpc.ts";
import { createTurnstile, type Turnstile } from "./turnstile.ts";
import { ProcessEvent } from "./wire.ts";

export type Shell = {
  readonly connection: Connection;
  readonly fetch: SandboxFetch;
  readonly root: string;
  readonly user: string;
  /** Milliseconds the sandbox has for its answer after a command's deadline. */
  readonly graceMs: number;
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** As `timeout` of coreutils has them. */
const TIMED_OUT = 124;
const UNREACHABLE = 127;
/** envd gives -1 (as Go does) for a process that a signal ended; a shell says this of one killed outright. */
const KILLED = 137;
/** Linux takes no argument longer than 128 KiB; a longer command goes as a file. */
const MAX_ARGUMENT_BYTES = 100 * 1024;
/** Output still on its way once the command has ended, while a job in the background keeps the stream open. */
const DRAIN_MS = 250;
const INPUT_PIECE_BYTES = 256 * 1024;

type Wake = "deadline" | "given_up" | "drained";

/** One command's course. */
type Run = {
  readonly request: ExecRequest;
  readonly nonce: string;
  readonly over: AbortSignal;
  readonly gate: Turnstile<Wake>;
  after(ms: number, wake: Wake): void;
};

/**
 * Runs one command line with the sandbox's bash, giving output as it comes. Settles within `timeoutMs` and the grace by
 * the injected clock, whatever the sandbox does. Throws only when `signal` aborts, and then at once; the command and all
 * it started in its group are ended. spec: X-1
 */
export async function* runCommand(shell: Shell, request: ExecRequest, signal: AbortSignal): AsyncGenerator<ExecEvent> {
  signal.throwIfAborted();
  const over = new AbortController();
  const gate = createTurnstile<Wake>(signal);
  const after = (ms: number, wake: Wake): void =>
    void shell.delay(ms, over.signal).then(() => (over.signal.aborted ? undefined : gate.wake(wake)));
  const run: Run = { request, nonce: crypto.randomUUID().replaceAll("-", ""), over: over.signal, gate, after };
  try {
    after(request.timeoutMs, "deadline");
    const opened = await gate.pass(shell.connection.live(request.timeoutMs + shell.graceMs));
    if ("woken" in opened) yield* stopped(request);
    else if (!opened.value.ok) yield* unreachable(opened.value.error, request);
    else yield* start(shell, run, opened.value.value);
  } finally {
    over.abort();
    gate.close();
  }
}

/** Brings over a command that is too long for an argument, then runs. */
async function* start(shell: Shell, run: Run, live: Live): AsyncGenerator<ExecEvent> {
  const { request, gate, nonce } = run;
  const command = new TextEncoder().encode(request.command);
  if (command.length <= MAX_ARGUMENT_BYTES) return yield* follow(shell, run, live, undefined);
  const file = `/tmp/.flyto-do-${nonce}`;
  const sent = await gate.pass(upload(shell.fetch, live, shell.user, file, command, run.over));
  if ("woken" in sent) yield* stopped(request);
  else if (!sent.value.ok) yield* unreachable(sent.value.error, request);
  else yield* follow(shell, run, live, file);
}

/** Follows one process from its start to its end, its deadline or the end of the connection. */
async function* follow(shell: Shell, run: Run, live: Live, file: string | undefined): AsyncGenerator<ExecEvent> {
  const { request, gate } = run;
  const wire = new AbortController();
  const messages = startProcess(shell, run, live, file, wire.signal);
  const filter = createStderrFilter(run.nonce);
  const seen: { pid?: number; code?: number; failure?: Failure; late: boolean } = { late: false };
  let next = messages.next();
  try {
    while (seen.code === undefined && seen.failure === undefined) {
      const turn = await gate.pass(next);
      if ("woken" in turn) {
        if (turn.woken !== "deadline") break;
        if (filter.ended) continue;
        seen.late = true;
        if (seen.pid !== undefined) void kill(shell, live, seen.pid);
        run.after(shell.graceMs, "given_up");
        continue;
      }
      if (turn.value.done) break;
      next = messages.next();
      const message = turn.value.value;
      const event = eventOf(message);
      if (!message.ok) seen.failure = message.error;
      if (event?.start) {
        seen.pid = event.start.pid;
        if (seen.late) void kill(shell, live, seen.pid);
        feed(shell, live, seen.pid, request.stdin, run.over);
      }
      const hadEnded = filter.ended !== undefined;
      yield* output(event?.data, filter);
      if (filter.ended && !hadEnded) run.after(DRAIN_MS, "drained");
      if (event?.end) seen.code = event.end.exitCode;
    }
    yield* piece("stderr", filter.rest());
    if (seen.failure?.gone) shell.connection.lost(live);
    if (seen.late) yield* stopped(request);
    else if (filter.ended) yield exit(filter.ended.exitCode, false, filter.ended.cwd);
    else if (seen.code !== undefined) yield exit(seen.code < 0 ? KILLED : seen.code, false, request.cwd);
    else yield* unreachable(seen.failure ?? { message: "the stream ended early" }, request);
  } finally {
    const ended = filter.ended !== undefined || seen.code !== undefined;
    // Whoever leaves early (an abort, a reader that stopped, no answer) leaves nothing running.
    // Nobody waits for that: the stream is let go once the process is ended, or at once when it has ended itself.
    const gone = ended ? Promise.resolve() : kill(shell, live, seen.pid ?? next.then(pidOf));
    void gone.then(() => wire.abort());
    messages.return(undefined).catch(() => undefined);
  }
}

type Message = Result<unknown, Failure>;

function startProcess(
  shell: Shell,
  run: Run,
  live: Live,
  file: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Message, void> {
  const { request, nonce } = run;
  const limitMs = request.timeoutMs + shell.graceMs;
  const inputBytes = new TextEncoder().encode(request.stdin ?? "").length;
  const limitSeconds = Math.ceil(limitMs / 1000);
  const command = file === undefined ? request.command : "";
  const wrapped = { nonce, command, file, cwd: request.cwd, root: shell.root, inputBytes, limitSeconds };
  const { cmd, args } = wrapCommand(wrapped);
  const process = { cmd, args, envs: request.env, cwd: "/" };
  const message = { process, stdin: inputBytes > 0 };
  return stream(shell.fetch, live, "process.Process/Start", message, limitMs, signal);
}

/** Gives standard input in pieces; a process that does not read it is no error. */
function feed(shell: Shell, live: Live, pid: number, stdin: string | undefined, over: AbortSignal): void {
  const send = async (): Promise<void> => {
    const bytes = new TextEncoder().encode(stdin ?? "");
    for (let at = 0; at < bytes.length; at += INPUT_PIECE_BYTES) {
      const input = { stdin: toBase64(bytes.subarray(at, at + INPUT_PIECE_BYTES)) };
      const sent = await call(shell.fetch, live, "process.Process/SendInput", { process: { pid }, input }, over);
      if (!sent.ok) return;
    }
  };
  void send();
}

/** Ends a process and its group; gives up after the grace. Never rejects. */
function kill(shell: Shell, live: Live, pid: number | Promise<number | undefined>): Promise<void> {
  const over = new AbortController();
  const work = async (): Promise<void> => {
    const known = await pid;
    if (known !== undefined) await endGroup(shell, live, known, over.signal);
  };
  return Promise.race([work().catch(() => undefined), shell.delay(shell.graceMs, over.signal)]).finally(() =>
    over.abort(),
  );
}

/** envd signals one process only, so the group is ended by a second one; the first is signalled for want of a group. */
async function endGroup(shell: Shell, live: Live, pid: number, signal: AbortSignal): Promise<void> {
  const process = { cmd: "/bin/bash", args: ["-c", `kill -KILL -- -${pid}`], envs: {}, cwd: "/" };
  const killing = stream(shell.fetch, live, "process.Process/Start", { process, stdin: false }, shell.graceMs, signal);
  for await (const message of killing) {
    if (!message.ok || eventOf(message)?.end) break;
  }
  await call(shell.fetch, live, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" }, signal);
}

function eventOf(message: Message): ProcessEvent | undefined {
  return message.ok ? ProcessEvent.safeParse(message.value).data?.event : undefined;
}

function pidOf(turn: IteratorResult<Message, void>): number | undefined {
  return turn.done ? undefined : eventOf(turn.value)?.start?.pid;
}

function* output(data: ProcessEvent["data"], filter: ReturnType<typeof createStderrFilter>): Generator<ExecEvent> {
  if (data?.stdout) yield* piece("stdout", fromBase64(data.stdout) ?? NOTHING);
  if (data?.stderr) yield* piece("stderr", filter.push(fromBase64(data.stderr) ?? NOTHING));
}

const NOTHING = new Uint8Array(0);

function* piece(type: "stdout" | "stderr", data: Uint8Array): Generator<ExecEvent> {
  if (data.length > 0) yield { type, data };
}

function* stopped(request: ExecRequest): Generator<ExecEvent> {
  yield line(`bash: the command was stopped after ${request.timeoutMs} ms`);
  yield exit(TIMED_OUT, true, request.cwd);
}

function* unreachable(failure: { readonly message: string }, request: ExecRequest): Generator<ExecEvent> {
  yield line(`bash: the e2b sandbox could not be used: ${failure.message}`);
  yield exit(UNREACHABLE, false, request.cwd);
}

function line(text: string): ExecEvent {
  return { type: "stderr", data: new TextEncoder().encode(`${text}\n`) };
}

function exit(exitCode: number, timedOut: boolean, cwd: string): ExecEvent {
  return { type: "exit", exitCode, timedOut, cwd };
}
