import type { ModelRequest } from "../../contract/model.ts";
import { fitThinking, stopSequences } from "../messages-wire/index.ts";
import { isM3 } from "./wire.ts";

/** Smallest temperature sent: 0 is refused. */
const MIN_TEMPERATURE = 0.01;

/** Body fields that follow from a request's options (provider-protocols 5). */
export function options(request: ModelRequest): Record<string, unknown> {
  const wanted = (request.thinkingBudget ?? 0) > 0;
  const adaptive = isM3(request.model);
  const fitted = fitThinking(request.thinkingBudget ?? 0, request.maxTokens);
  return {
    max_tokens: wanted && !adaptive ? fitted.maxTokens : request.maxTokens,
    ...stopSequences(request),
    ...(wanted
      ? { thinking: adaptive ? { type: "adaptive" } : { type: "enabled", budget_tokens: fitted.budget } }
      : {}),
    ...(request.temperature !== undefined && !wanted
      ? { temperature: Math.min(1, Math.max(MIN_TEMPERATURE, request.temperature)) }
      : {}),
  };
}
