import type { ToolFact } from "../contract/facts.ts";
import type { ToolOutcome } from "../contract/tools.ts";

/** A result the model reads as success. */
export function text(content: string, facts: readonly ToolFact[] = []): ToolOutcome {
  return { content, isError: false, facts };
}

/** A result the model reads as an error; it may try another way. */
export function failure(message: string, facts: readonly ToolFact[] = []): ToolOutcome {
  return { content: `error: ${message}`, isError: true, facts };
}
