import type { Output } from "../contract/journal.ts";
import type { Step } from "./agent.ts";

/** What a step is, now that it is about to be stored. */
export function made(step: Step): Output {
  return step.kind === "late" ? step.build() : step;
}
