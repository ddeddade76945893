import type { BashOptions } from "just-bash";

/** Bytes of output one command may make before it is stopped; what the caller has not read yet is held. */
export const MAX_OUTPUT_BYTES = 10 * 1024 * 1024;

/** Grace for the interpreter to stop after its deadline, milliseconds, before its answer is given up. */
export const STOP_GRACE_MS = 1_000;

/**
 * Limits beside the interpreter's "hardened" profile. A busy loop holds the object's thread until a count ends it, so
 * counts are what bounds work; time bounds waiting.
 */
export function executionLimits(timeoutMs: number): NonNullable<BashOptions["executionLimits"]> {
  return {
    maxCommandCount: 20_000,
    maxLoopIterations: 20_000,
    maxCallDepth: 100,
    // Adding to an array copies it, so a loop that does takes the square of this: a few seconds at 5,000.
    maxArrayElements: 5_000,
    maxOutputSize: MAX_OUTPUT_BYTES,
    maxStringLength: 16 * 1024 * 1024,
    maxLiveBytes: 96 * 1024 * 1024,
    maxInputBytes: 256 * 1024 * 1024,
    maxExecutionTimeMs: timeoutMs,
  };
}
