import type { ExecEvent, ExecRequest } from "../../contract/sandbox.ts";
import { ExecError, ExecExit, MAX_EXEC_MS } from "../../contract/sandbox-protocol.ts";
import { createSseDecoder, type SseMessage } from "../../shared/sse.ts";
import { CallFault, type Connection } from "./connection.ts";
import { type Deadline, DeadlineError, type Delay, startDeadline } from "./deadline.ts";

/** As the shell says "cannot be found", and `timeout` of coreutils "took too long"; 126: stopped at a limit. */
const UNREACHED = 127;
const TIMED_OUT = 124;
const STOPPED = 126;
/** Output of one command that is handed on; the server has its own limit, but need not keep it. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** A cancel that nobody waits for. */
const CANCEL_MS = 10_000;

export type ExecOptions = { readonly graceMs: number; readonly delay: Delay; readonly newId: () => string };

/**
 * Runs one command over HTTP. Ends within the command's time plus the grace by this side's clock, and at once when `signal`
 * aborts; late answers are dropped (S18). Throws only when `signal` aborts.
 */
export async function* remoteExec(
  connection: Connection,
  request: ExecRequest,
  signal: AbortSignal,
  { graceMs, delay, newId }: ExecOptions,
): AsyncGenerator<ExecEvent> {
  signal.throwIfAborted();
  const { command, cwd, env, stdin } = request;
  const timeout_ms = Math.max(1, Math.min(Math.trunc(request.timeoutMs), MAX_EXEC_MS));
  const exec_id = newId();
  const body = JSON.stringify({ command, cwd, env, timeout_ms, exec_id, ...(stdin === undefined ? {} : { stdin }) });
  const deadline = startDeadline(timeout_ms + graceMs, delay, signal);
  let ended = false;
  try {
    const answer = await connection.send({ method: "POST", path: "/exec", body }, deadline);
    if (connection.takeLoss()) yield line("the workspace was lost on the sandbox server; this one is new and empty");
    for await (const event of events(answer, deadline)) {
      ended = event.type === "exit";
      yield event;
    }
    if (ended) return;
    yield line("the sandbox server broke off the command; how far it went is unknown");
    yield exit(UNREACHED, cwd);
  } catch (error) {
    signal.throwIfAborted();
    const stopped = describe(error, timeout_ms);
    yield line(stopped.words);
    yield { ...exit(stopped.code, cwd), timedOut: stopped.code === TIMED_OUT };
  } finally {
    if (!ended) connection.forget({ method: "DELETE", path: `/exec/${exec_id}` }, CANCEL_MS);
    deadline.end();
  }
}

/** Events of the stream up to `exit`; ends without one when the stream does. */
async function* events(answer: Response, deadline: Deadline): AsyncGenerator<ExecEvent> {
  const reader = answer.body?.getReader();
  const decoder = createSseDecoder();
  let left = MAX_OUTPUT_BYTES;
  try {
    while (reader) {
      const { done, value } = await deadline.race(reader.read());
      for (const message of done ? decoder.end() : decoder.push(value)) {
        const event = toEvent(message);
        if (!event) continue;
        if (event.type === "exit") return yield event;
        left -= event.data.length;
        if (left < 0) throw new CallFault("output_limit", `its output is longer than ${MAX_OUTPUT_BYTES} bytes`);
        yield event;
      }
      if (decoder.overflowed) throw new CallFault("unavailable", "the sandbox server sent too long an event");
      if (done) return;
    }
  } finally {
    void reader?.cancel().catch(() => {});
  }
}

function toEvent({ event, data }: SseMessage): ExecEvent | undefined {
  switch (event) {
    case "stdout":
    case "stderr":
      return { type: event, data: fromBase64(data) };
    case "exit": {
      const { exit_code, timed_out, cwd } = ExecExit.parse(JSON.parse(data));
      return { type: "exit", exitCode: exit_code, timedOut: timed_out, cwd };
    }
    case "error": {
      const { error, code } = ExecError.parse(JSON.parse(data));
      throw new CallFault(code, error);
    }
    default:
      return undefined;
  }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function describe(error: unknown, timeoutMs: number): { readonly words: string; readonly code: number } {
  if (error instanceof DeadlineError) {
    return { words: `the command was given up: no end of it ${timeoutMs} ms after its start`, code: TIMED_OUT };
  }
  if (error instanceof CallFault) {
    if (error.code === "output_limit") return { words: `stopped: ${error.message}`, code: STOPPED };
    return { words: `the sandbox server could not run the command: ${error.message}`, code: UNREACHED };
  }
  return {
    words: "the sandbox server could not be reached, or broke off; how far the command went is unknown",
    code: UNREACHED,
  };
}

function exit(exitCode: number, cwd: string): ExecEvent & { type: "exit" } {
  return { type: "exit", exitCode, timedOut: false, cwd };
}

function line(text: string): ExecEvent {
  return { type: "stderr", data: new TextEncoder().encode(`bash: ${text}\n`) };
}
