import type { ExecEvent } from "../../contract/sandbox.ts";

/** Files that are not there: what is appended to them is output of the running command. See `streamed`. */
export const STREAM_PATHS = { stdout: "/dev/.stdout", stderr: "/dev/.stderr" } as const;

/** Bytes of one stdout or stderr event. */
const PIECE_BYTES = 64 * 1024;
/** Characters at the end of each stream that are kept to look for what the shell said. */
const TAIL = 20_000;

/** Commands that only the interpreter's Node build has answer with words for its developers. */
const OTHER_BUILD = /^bash: (\S+): command not available in browser environments\..*$/gm;

/** What the interpreter advises its developers to do; nobody here can follow it. */
const ADVICE = /, increase executionLimits\.\w+/g;

/** What the interpreter says, in words for its users. */
export function plainWords(text: string): string {
  const said = text.includes("executionLimits") ? text.replace(ADVICE, "") : text;
  return said.includes("browser environments") ? said.replace(OTHER_BUILD, "bash: $1: command not found") : said;
}

export type OutputStream = {
  /** Adds output; `path` is one of `STREAM_PATHS`. False when it is any other path. */
  write(path: string, bytes: Uint8Array): boolean;
  push(type: "stdout" | "stderr", bytes: Uint8Array): void;
  /** What was written and not taken yet, in order. */
  take(): Iterable<ExecEvent>;
  /** Resolves when there is something to take. */
  ready(): Promise<void>;
  /** The last characters of both streams, one after the other. */
  tail(): string;
};

type Written = { readonly type: "stdout" | "stderr"; readonly bytes: Uint8Array };

/** Holds output between the command that writes and the caller that reads. Bounded by the interpreter's own limit. */
export function createOutputStream(): OutputStream {
  let waiting: Written[] = [];
  let wake = () => {};
  const tails = { stdout: "", stderr: "" };
  const stream: OutputStream = {
    write(path, bytes) {
      if (path === STREAM_PATHS.stdout) stream.push("stdout", bytes);
      else if (path === STREAM_PATHS.stderr) stream.push("stderr", bytes);
      else return false;
      return true;
    },
    push(type, bytes) {
      if (bytes.length === 0) return;
      waiting.push({ type, bytes });
      tails[type] = (tails[type] + new TextDecoder().decode(bytes.subarray(-TAIL))).slice(-TAIL);
      wake();
    },
    take() {
      const taken = waiting;
      waiting = [];
      return events(taken);
    },
    ready: () =>
      new Promise((resolve) => {
        wake = resolve;
        if (waiting.length > 0) resolve();
      }),
    tail: () => `${tails.stderr}\n${tails.stdout}`,
  };
  return stream;
}

/** Few events of a fair size: what one stream got in a row is joined, what is large is cut. */
function* events(written: readonly Written[]): Generator<ExecEvent> {
  for (let at = 0; at < written.length; ) {
    const type = written[at]?.type ?? "stdout";
    const run: Uint8Array[] = [];
    let size = 0;
    for (let next = written[at]; next?.type === type && size < PIECE_BYTES; next = written[at]) {
      run.push(next.bytes);
      size += next.bytes.length;
      at++;
    }
    const joined = joinBytes(run, size);
    for (let from = 0; from < size; from += PIECE_BYTES)
      yield { type, data: joined.subarray(from, from + PIECE_BYTES) };
  }
}

function joinBytes(parts: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
