import type { ModelRequest } from "../../contract/model.ts";
import { commonOptions, effortOf } from "../chat-completions/index.ts";

/** Body fields that follow from a request's options (provider-protocols 7). */
export function options(request: ModelRequest): Record<string, unknown> {
  const effort = effortOf(request);
  return { ...commonOptions(request), ...(effort ? { reasoning_effort: effort } : {}) };
}
