/** `ps` in the sandbox shows it, so it is no secret: it only keeps the command's own output from being taken for ours. */
export type Nonce = string;

const MARK = "\u001e";
/** Longest working directory that is believed; Linux knows no longer path. */
const MAX_CWD = 4_096;

/** The inner shell: runs the command and leaves the directory it ended in, also when the command calls `exit`. */
const INNER = [
  '__at=$1 __do=$2; [ -z "$3" ] || { __do=$(<"$3"); rm -f -- "$3"; }; set --',
  `trap 'pwd 2>/dev/null >"$__at"' EXIT`,
  'eval "$__do"; __status=$?',
  'pwd 2>/dev/null >"$__at"; exit "$__status"',
].join("\n");

/**
 * The outer shell: finds the working directory (the root when it is gone), feeds standard input to the inner one, and says
 * at the end, on stderr between two marks, how the command ended and where. envd tells no directory, and its stream may
 * stay open while a job in the background holds the output.
 */
const OUTER = [
  "nonce=$1 wd=$2 root=$3 input=$4 inner=$5 command=$6 file=$7 at=/tmp/.flyto-$1",
  'if ! cd -- "$wd" 2>/dev/null; then',
  '  cd -- "$root" || exit 127',
  `  printf 'bash: %s: the working directory is gone; running in %s\\n' "$wd" "$root" >&2`,
  "fi",
  'if [ -n "$input" ]; then',
  '  /bin/bash -c "$inner" bash "$at" "$command" "$file" < <(head -c "$input"); status=$?',
  "else",
  '  /bin/bash -c "$inner" bash "$at" "$command" "$file" </dev/null; status=$?',
  "fi",
  'ended=$PWD; [ -f "$at" ] && { ended=$(<"$at"); rm -f -- "$at"; }',
  '[ -d "$ended" ] || ended=$root',
  `printf '\\036%s:%s:%s\\036' "$nonce" "$status" "$ended" >&2`,
  'exit "$status"',
].join("\n");

export type Wrapped = {
  readonly nonce: Nonce;
  readonly command: string;
  /** A file of the sandbox that holds the command instead; it is removed once read. */
  readonly file?: string | undefined;
  readonly cwd: string;
  readonly root: string;
  /** Bytes that will come on standard input; none means an empty one. */
  readonly inputBytes?: number | undefined;
  /** Seconds after which the sandbox itself ends the command, should nobody else. */
  readonly limitSeconds: number;
};

/**
 * The program and its arguments. `timeout` makes the process a group of its own, so that everything the command started
 * can be ended with it. A login shell, as the vendor's own client starts one, so that a template's profile holds.
 */
export function wrapCommand(wrapped: Wrapped): { readonly cmd: string; readonly args: readonly string[] } {
  const { nonce, command, file, cwd, root, inputBytes, limitSeconds } = wrapped;
  const limit = ["--signal=KILL", String(limitSeconds)];
  const shell = ["/bin/bash", "-l", "-c", OUTER, "bash"];
  const input = inputBytes ? String(inputBytes) : "";
  return { cmd: "timeout", args: [...limit, ...shell, nonce, cwd, root, input, INNER, command, file ?? ""] };
}

export type Ended = { readonly exitCode: number; readonly cwd: string };

/**
 * Takes the closing line out of stderr, wherever the pieces break. `push` gives what belongs to the command; `ended` is
 * set once the line was seen.
 */
export function createStderrFilter(nonce: Nonce): {
  push(piece: Uint8Array): Uint8Array;
  /** What was held back as a possible beginning of the line. */
  rest(): Uint8Array;
  readonly ended: Ended | undefined;
} {
  const start = `${MARK}${nonce}:`;
  let held = "";
  let ended: Ended | undefined;
  return {
    push(piece) {
      held += latin1(piece);
      const at = possibleStart(held, start);
      const close = held.startsWith(start, at) ? held.indexOf(MARK, at + start.length) : -1;
      if (close >= 0) ended = parseEnd(held.slice(at + start.length, close)) ?? ended;
      const tooLong = held.length - at > start.length + MAX_CWD + 8;
      const keepFrom = close >= 0 || tooLong ? held.length : at;
      const passed = close >= 0 ? held.slice(0, at) + held.slice(close + 1) : held.slice(0, keepFrom);
      held = held.slice(keepFrom);
      return bytesOf(passed);
    },
    rest() {
      const passed = bytesOf(held);
      held = "";
      return passed;
    },
    get ended() {
      return ended;
    },
  };
}

/** Where the line, or a beginning of it at the very end, starts; the length when there is none. */
function possibleStart(text: string, start: string): number {
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) {
    if (start.startsWith(text.slice(at, at + start.length))) return at;
  }
  return text.length;
}

function parseEnd(line: string): Ended | undefined {
  const [, status, cwd] = /^(\d{1,3}):(\/.*)$/s.exec(line) ?? [];
  return status === undefined || cwd === undefined
    ? undefined
    : { exitCode: Number(status), cwd: new TextDecoder().decode(bytesOf(cwd)) };
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return text;
}

function bytesOf(latin: string): Uint8Array {
  const bytes = new Uint8Array(latin.length);
  for (let at = 0; at < latin.length; at++) bytes[at] = latin.charCodeAt(at);
  return bytes;
}
