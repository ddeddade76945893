import type { ModelRequest } from "../../contract/model.ts";

/** Body fields that follow from a request's options. The service takes no stop sequences; the engine finds them itself. */
export function options(request: ModelRequest): Record<string, unknown> {
  return {
    max_tokens: request.maxTokens,
    ...(request.temperature === undefined ? {} : { temperature: Math.min(5, Math.max(0, request.temperature)) }),
  };
}
