import type { ModelRequest } from "../../contract/model.ts";
import { commonOptions } from "../chat-completions/index.ts";
import { fitThinking } from "../messages-wire/index.ts";

/** Body fields that follow from a request's options (provider-protocols 4). */
export function options(request: ModelRequest): Record<string, unknown> {
  const wanted = request.thinkingBudget ?? 0;
  const { temperature, ...rest } = commonOptions(request);
  // The budget is a part of `max_tokens` here too.
  const { budget, maxTokens } =
    wanted > 0 ? fitThinking(wanted, request.maxTokens) : { budget: 0, maxTokens: undefined };
  const anthropicThinks = budget > 0 && request.model.startsWith("anthropic/");
  return {
    ...rest,
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    // Anthropic models take no temperature while they think; others do.
    ...(temperature === undefined || anthropicThinks ? {} : { temperature }),
    ...(budget > 0
      ? { reasoning: { max_tokens: budget } }
      : request.effort
        ? { reasoning: { effort: request.effort } }
        : {}),
  };
}

/** Models that want their cache marks; the others cache by themselves. */
export function takesCacheMarks(model: string): boolean {
  return /^~?(?:anthropic\/|google\/gemini)/.test(model);
}
