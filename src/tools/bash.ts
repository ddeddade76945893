import { z } from "zod";
import type { ToolFact } from "../contract/facts.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { createHeadTail, type HeadTail } from "./head-tail.ts";
import { failure, text } from "./outcome.ts";

/** Both streams together stay within 10 MB, of the 128 MB that an isolate has for everything. */
const STREAM_BYTES = 5 * 1024 * 1024;
const PROGRESS_EVERY_MS = 500;
const LINE_FEED = 10;
/** A longer line is not told as progress. */
const MAX_LINE_BYTES = 4_096;

export type BashOptions = {
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Clock of the progress reports, milliseconds. */
  readonly now?: (() => number) | undefined;
};

type Input = {
  readonly command: string;
  readonly timeout?: number | undefined;
  readonly description?: string | undefined;
};

/** Runs a command line in the session's sandbox. */
export function createBashTool(options: BashOptions): Tool<Input> {
  const { defaultTimeoutMs, maxTimeoutMs } = options;
  const timeoutMs = (input: Input): number => Math.min(input.timeout ?? defaultTimeoutMs, maxTimeoutMs);
  return {
    name: "Bash",
    description:
      "Runs a command in a bash shell in the workspace and returns what it prints, standard output and standard error, " +
      "and the exit code when it is not 0. The working directory carries over to the next command; variables and functions " +
      `do not. A command is stopped after ${defaultTimeoutMs} ms unless timeout says otherwise (at most ${maxTimeoutMs} ms). ` +
      "It cannot answer questions, so use flags that ask none. To read, find, search or change files prefer Read, Glob, " +
      "Grep, Edit and Write: they are checked and number lines. Quote paths that contain spaces.",
    input: z.object({
      command: z.string().min(1).describe("The command line"),
      timeout: z
        .number()
        .int()
        .min(1)
        .max(maxTimeoutMs)
        .optional()
        .describe(`Timeout in milliseconds (default ${defaultTimeoutMs}, max ${maxTimeoutMs})`),
      description: z.string().optional().describe("What the command does, in five to ten words"),
    }),
    metadata: {
      readOnly: false,
      concurrencySafe: false,
      destructive: true,
      searchHint: "run, execute a shell command or program",
      permissionClass: "bash",
      requiresCheckpoint: false,
      auditOperation: "execute",
      recovery: "unknown",
    },
    resource: (input) => input.command,
    timeoutMs,
    run: (input, context) => execute(input.command, timeoutMs(input), context, options.now ?? Date.now),
  };
}

async function execute(
  command: string,
  timeoutMs: number,
  context: ToolContext,
  now: () => number,
): Promise<ToolOutcome> {
  const { sandbox, facts, env, signal } = context;
  const stdout = createHeadTail(STREAM_BYTES);
  const stderr = createHeadTail(STREAM_BYTES);
  const report = reporter(context, timeoutMs, now);
  for await (const event of sandbox.exec({ command, cwd: facts.cwd, env, timeoutMs }, signal)) {
    if (event.type === "exit") {
      const moved: ToolFact[] = event.cwd === facts.cwd ? [] : [{ kind: "cwd", path: event.cwd }];
      return conclude(event, timeoutMs, show(stdout, stderr), moved);
    }
    (event.type === "stdout" ? stdout : stderr).push(event.data);
    report(event.data);
  }
  throw new Error("the sandbox ended a command without an exit event");
}

function conclude(
  exit: { readonly exitCode: number; readonly timedOut: boolean },
  timeoutMs: number,
  output: string,
  facts: readonly ToolFact[],
): ToolOutcome {
  const below = output === "" ? "" : `\n${output}`;
  if (exit.timedOut) return failure(`the command timed out after ${timeoutMs} ms and was stopped${below}`, facts);
  if (exit.exitCode !== 0) return failure(`the command ended with exit code ${exit.exitCode}${below}`, facts);
  return text(output === "" ? "(no output)" : output, facts);
}

function show(stdout: HeadTail, stderr: HeadTail): string {
  const out = stdout.text().replace(/\n$/, "");
  const err = stderr.text().replace(/\n$/, "");
  if (err === "") return out;
  return out === "" ? `[stderr]\n${err}` : `${out}\n[stderr]\n${err}`;
}

/**
 * Tells the last whole line printed, at most twice a second; the fraction is the share of the time that may be spent. A
 * line that began in an earlier piece, or has not ended yet, is not told: a secret cut in two is not recognized as one.
 */
function reporter(context: ToolContext, timeoutMs: number, now: () => number): (data: Uint8Array) => void {
  const start = now();
  let last = Number.NEGATIVE_INFINITY;
  let open = false;
  return (data) => {
    const begun = open;
    open = data.at(-1) !== LINE_FEED;
    const at = now();
    if (at - last < PROGRESS_EVERY_MS) return;
    const line = lastWholeLine(data, begun);
    if (line === undefined) return;
    last = at;
    context.progress(Math.min(0.99, (at - start) / timeoutMs), line);
  };
}

function lastWholeLine(data: Uint8Array, begun: boolean): string | undefined {
  const end = data.lastIndexOf(LINE_FEED);
  if (end < 0) return undefined;
  const before = end === 0 ? -1 : data.lastIndexOf(LINE_FEED, end - 1);
  const whole = before >= 0 || !begun;
  return whole && end - before <= MAX_LINE_BYTES ? new TextDecoder().decode(data.subarray(before + 1, end)) : undefined;
}
