import { type ExecBody, REMOTE_ROOT } from "../../src/contract/sandbox-protocol.ts";
import { toBase64 } from "../../src/shared/base64.ts";
import { createStderrFilter, wrapCommand } from "../../src/shared/shell-wrap.ts";
import type { ContainerBinding, ExecProcess } from "./binding.ts";
import { streamOf } from "./files.ts";

export type ExecSpace = {
  readonly container: ContainerBinding;
  /** Commands running now, by the caller's id. */
  readonly execs: Map<string, AbortController>;
  readonly maxBytes: number | undefined;
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Told when a command has ended: the time without use begins then. */
  used(): Promise<void>;
};

/** Linux takes no argument longer than 128 KiB; a longer command goes as a file. */
const MAX_ARGUMENT_BYTES = 100 * 1024;
/** Output still on its way once the command has ended, while a job in the background holds it open. */
const DRAIN_MS = 250;
/** What is left to a command that was told to end. */
const GRACE_MS = 2_000;
/** A comment on the stream so often: proxies cut connections that say nothing. */
const KEEPALIVE_MS = 15_000;
const TIMED_OUT = 124;

/** Runs a command and streams it as server-sent events; the last one is `exit` or `error`. A caller that leaves cancels it. */
export function serveExec(space: ExecSpace, body: ExecBody): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const cancel = new AbortController();
  space.execs.set(body.exec_id, cancel);
  writer.closed.catch(() => cancel.abort());
  const say = (text: string): Promise<void> => writer.write(new TextEncoder().encode(text));
  const send = (event: string, data: string): Promise<void> => say(`event: ${event}\ndata: ${data}\n\n`);
  const work = async (): Promise<void> => {
    try {
      await say(": started\n\n");
      const exit = await run(space, body, send, cancel.signal);
      await send("exit", JSON.stringify(exit));
    } catch (error) {
      if (!cancel.signal.aborted) console.error("exec failed:", error);
      await send("error", JSON.stringify({ error: "the command could not be run", code: "not_started" })).catch(none);
    } finally {
      space.execs.delete(body.exec_id);
      cancel.abort();
      await space.used().catch(none);
      await writer.close().catch(none);
    }
  };
  const keepAlive = async (): Promise<void> => {
    for (;;) {
      await space.delay(KEEPALIVE_MS, cancel.signal);
      if (cancel.signal.aborted) return;
      await say(": keepalive\n\n");
    }
  };
  void work();
  void keepAlive().catch(none);
  return new Response(readable, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}

type Exit = { readonly exit_code: number; readonly timed_out: boolean; readonly cwd: string };
type Send = (event: "stdout" | "stderr", data: string) => Promise<void>;

async function run(space: ExecSpace, body: ExecBody, send: Send, signal: AbortSignal): Promise<Exit> {
  const nonce = crypto.randomUUID().replaceAll("-", "");
  const process = await startProcess(space, body, nonce);
  const filter = createStderrFilter(nonce);
  const marked = Promise.withResolvers<void>();
  let over = false;
  const pump = async (
    stream: ReadableStream | null,
    take: (piece: Uint8Array) => ["stdout" | "stderr", Uint8Array],
  ) => {
    for await (const piece of stream ?? []) {
      if (over) return;
      const [event, data] = take(piece);
      if (data.length > 0) await send(event, toBase64(data));
      if (filter.ended) marked.resolve();
    }
  };
  const pumps = Promise.all([
    pump(process.stdout, (piece) => ["stdout", piece]),
    pump(process.stderr, (piece) => ["stderr", filter.push(piece)]),
  ]);
  pumps.catch(none);
  const timers = new AbortController();
  const wait = (ms: number): Promise<void> => space.delay(ms, timers.signal);
  const ended = Promise.race([pumps.then(() => process.exitCode), marked.promise.then(() => wait(DRAIN_MS))]);
  const cancelled = new Promise<"cancelled">((resolve) => {
    if (signal.aborted) resolve("cancelled");
    signal.addEventListener("abort", () => resolve("cancelled"), { once: true });
  });
  const deadline = wait(body.timeout_ms).then(() => "deadline" as const);
  try {
    const first = await Promise.race([ended, cancelled, deadline]);
    const stopped = first === "cancelled" || first === "deadline";
    if (stopped) {
      await endGroup(space.container, process);
      await Promise.race([ended, wait(GRACE_MS)]);
    }
    over = true;
    const rest = filter.rest();
    if (rest.length > 0) await send("stderr", toBase64(rest));
    if (stopped) return { exit_code: TIMED_OUT, timed_out: first === "deadline", cwd: body.cwd };
    if (filter.ended) return { exit_code: filter.ended.exitCode, timed_out: false, cwd: filter.ended.cwd };
    // Nothing is promised of the code of a process that a signal ended; 137 is what a shell says of SIGKILL.
    const code = typeof first === "number" && first >= 0 ? first : 137;
    return { exit_code: code, timed_out: false, cwd: body.cwd };
  } finally {
    over = true;
    timers.abort();
  }
}

async function startProcess(space: ExecSpace, body: ExecBody, nonce: string): Promise<ExecProcess> {
  const { container, maxBytes } = space;
  const command = new TextEncoder().encode(body.command);
  const file = command.length > MAX_ARGUMENT_BYTES ? `/tmp/.flyto-do-${nonce}` : undefined;
  if (file !== undefined) {
    const written = await container.exec(["/bin/bash", "-c", 'cat >"$1"', "bash", file], { stdin: streamOf(command) });
    await written.output();
  }
  const stdin = new TextEncoder().encode(body.stdin ?? "");
  const limitSeconds = Math.ceil((body.timeout_ms + GRACE_MS) / 1000);
  const place = { cwd: body.cwd, root: REMOTE_ROOT, inputBytes: stdin.length, limitSeconds };
  const { cmd, args } = wrapCommand({ nonce, command: file === undefined ? body.command : "", file, ...place });
  const env = { HOME: REMOTE_ROOT, LANG: "C.UTF-8", ...body.env };
  const options = { cwd: "/", env, ...(stdin.length > 0 ? { stdin: streamOf(stdin) } : {}) };
  return container.exec(["/bin/bash", "-c", fileLimit(maxBytes), "bash", cmd, ...args], options);
}

/** A container has no quota for a folder: no file may grow past what is left, as it is when the command starts. */
function fileLimit(maxBytes: number | undefined): string {
  if (maxBytes === undefined) return 'exec "$@"';
  const left = `left=$(( (${maxBytes} - $(du -sb ${REMOTE_ROOT} | cut -f1)) / 1024 ))`;
  return `${left}; ulimit -f $(( left > 4 ? left : 4 )); exec "$@"`;
}

/** `kill()` reaches one process; what it started is in the group that `timeout` made. */
async function endGroup(container: ContainerBinding, process: ExecProcess): Promise<void> {
  const killing = await container.exec(["/bin/bash", "-c", `kill -KILL -- -${process.pid}`]).catch(none);
  await killing?.exitCode.catch(none);
  process.kill(9);
}

function none(): undefined {
  return undefined;
}
