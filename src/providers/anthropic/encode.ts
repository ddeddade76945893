import type { ModelRequest } from "../../contract/model.ts";
import { fitThinking, stopSequences } from "../messages-wire/index.ts";
import { BETA_EFFORT, BETA_FAST_MODE, isAdaptive } from "./wire.ts";

/** These models leave the text of their thinking out unless asked: nothing would be shown, and long silence is a stall. */
const ADAPTIVE = { type: "adaptive", display: "summarized" } as const;

/** Body fields and headers that follow from a request's options (provider-protocols 2, R-9). */
export function options(
  request: ModelRequest,
  can: { readonly openLoop: boolean; readonly thinks: boolean },
): { readonly body: Record<string, unknown>; readonly headers: Record<string, string> } {
  const wanted = (request.thinkingBudget ?? 0) > 0 && can.thinks && !can.openLoop;
  const fitted = fitThinking(request.thinkingBudget ?? 0, request.maxTokens);
  const adaptive = isAdaptive(request.model);
  const betas = [request.effort ? BETA_EFFORT : "", request.fastMode ? BETA_FAST_MODE : ""].filter(
    (name) => name !== "",
  );
  const body: Record<string, unknown> = {
    max_tokens: wanted && !adaptive ? fitted.maxTokens : request.maxTokens,
    ...stopSequences(request),
    ...(wanted ? { thinking: adaptive ? ADAPTIVE : { type: "enabled", budget_tokens: fitted.budget } } : {}),
    // Thinking takes no temperature but its own; adaptive models refuse the field.
    ...(request.temperature !== undefined && !wanted && !adaptive
      ? { temperature: Math.min(1, Math.max(0, request.temperature)) }
      : {}),
    ...(request.effort ? { output_config: { effort: request.effort } } : {}),
    ...(request.fastMode ? { speed: "fast" } : {}),
  };
  return { body, headers: betas.length > 0 ? { "anthropic-beta": betas.join(",") } : {} };
}
