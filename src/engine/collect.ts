import type { Output } from "../contract/journal.ts";
import type { EntryOf } from "../contract/log.ts";
import type { Agent } from "./agent.ts";
import { reportOf } from "./agent-end.ts";
import { capOutput } from "./cap-output.ts";
import { OUTCOME_UNKNOWN } from "./log/fold.ts";
import type { DelegatedCall } from "./log/next-step.ts";
import { commit } from "./outcomes.ts";
import { keptName } from "./run-call.ts";
import { resultEvent } from "./tool-result.ts";

/** Gives calls the results of the sub-agents that did their work. */
export async function* collectResults(calls: readonly DelegatedCall[], agent: Agent): AsyncGenerator<Output, void> {
  for (const call of calls) {
    const { text, isError } = resultOf(call, agent);
    const entry: EntryOf<"tool_finished"> = {
      kind: "tool_finished",
      call_id: call.block.id,
      content: await capOutput(text, keptName({ callId: call.block.id }, agent), agent.deps),
      is_error: isError,
    };
    yield commit([entry], [resultEvent(call.block.name, entry)]);
  }
}

function resultOf(call: DelegatedCall, { tree }: Agent): { text: string; isError: boolean } {
  const fold = tree.foldOf(call.at.agentId);
  const outcome = fold?.run?.outcome;
  if (!fold || !outcome) return { text: OUTCOME_UNKNOWN, isError: true };
  const { status, result, error } = reportOf(fold, outcome);
  if (status === "completed")
    return { text: result === "" ? "(the agent ended without a word)" : result, isError: false };
  const why = `error: the agent ${status === "cancelled" ? "was cancelled" : `failed: ${error}`}`;
  return { text: result === "" ? why : `${why}\nWhat it said last:\n${result}`, isError: true };
}
