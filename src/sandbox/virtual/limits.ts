import type { BashOptions } from "just-bash";

/** Bytes of output one command may make before it is stopped; what the caller has not read yet is held. */
export const MAX_OUTPUT_BYTES = 10 * 1024 * 1024;

/** Grace for the interpreter to stop after its deadline, milliseconds, before its answer is given up. */
export const STOP_GRACE_MS = 1_000;

/** How long a command may work, waiting left out, milliseconds; an object has 30 s of CPU for all it does at once. */
export const MAX_WORK_MS = 15_000;

/** Commands in one command line. Bounds what no clock sees: text run by `eval` and `source`. */
export const MAX_STEPS = 250_000;

/** Lines or words that one program holds at once: the isolate's 128 MB are for everybody in it. */
export const MAX_ELEMENTS = 200_000;

/**
 * Limits beside the interpreter's "hardened" profile. Time bounds loops of the shell, see `createWorkClock`. A program
 * such as awk holds the object's thread until it ends, so counts are what bounds those; they allow each a second or two.
 */
export function executionLimits(timeoutMs: number): NonNullable<BashOptions["executionLimits"]> {
  return {
    maxCommandCount: MAX_STEPS,
    maxLoopIterations: MAX_STEPS,
    maxAwkIterations: 1_000_000,
    maxJqIterations: 1_000_000,
    // A program whose text grows in a loop takes the square of this.
    maxSedIterations: 20_000,
    maxCallDepth: 100,
    maxArrayElements: MAX_ELEMENTS,
    maxQueryElements: MAX_ELEMENTS,
    maxWorkUnits: 1_000_000,
    maxOutputSize: MAX_OUTPUT_BYTES,
    maxStringLength: 16 * 1024 * 1024,
    maxLiveBytes: 96 * 1024 * 1024,
    maxInputBytes: 256 * 1024 * 1024,
    maxExecutionTimeMs: timeoutMs,
  };
}

/** What the interpreter advises its developers to do. */
const ADVICE = /, increase executionLimits\.\w+/g;
const STOPPED =
  /(limit exceeded|too many (commands|iterations)|exceeded maximum iterations|total output size exceeded|maximum (recursion|nesting) depth)/;

/** The interpreter's words about a limit, without advice that nobody here can follow. */
export function withoutAdvice(text: string): string {
  return text.includes("executionLimits") ? text.replace(ADVICE, "") : text;
}

/** A line that names the limits when one was met; else nothing. */
export function limitsLine(said: string): string {
  if (!STOPPED.test(said)) return "";
  const figures = `${figure(MAX_STEPS)} steps, ${MAX_WORK_MS / 1000} s of work, ${figure(MAX_ELEMENTS)} lines or array elements, ${MAX_OUTPUT_BYTES / 1024 / 1024} MB of output`;
  return `bash: this is a limit of the virtual sandbox (one command may take ${figures}); do it in smaller parts\n`;
}

function figure(count: number): string {
  return count.toLocaleString("en-US");
}
