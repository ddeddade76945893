import type { ModelRequest } from "../../contract/model.ts";
import { commonOptions, effortOf } from "../chat-completions/index.ts";
import { isReasoning } from "./wire.ts";

/** Body fields that follow from a request's options (provider-protocols 3). */
export function options(request: ModelRequest, official: boolean): Record<string, unknown> {
  const reasoning = isReasoning(request.model);
  const { max_tokens, temperature, stop, ...rest } = commonOptions(request);
  const effort = effortOf(request);
  return {
    ...rest,
    // Reasoning models refuse `max_tokens`; many compatible servers know nothing else.
    ...(official || reasoning ? { max_completion_tokens: max_tokens } : { max_tokens }),
    // Reasoning models refuse a temperature other than 1 and stop sequences.
    ...(temperature === undefined || reasoning ? {} : { temperature }),
    ...(stop === undefined || reasoning ? {} : { stop }),
    ...(reasoning && effort ? { reasoning_effort: effort } : {}),
  };
}
