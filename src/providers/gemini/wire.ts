import type { ModelStop } from "../../contract/model.ts";

/** Figures of an answer's usage (provider-protocols 6). */
export const USAGE_FIELDS = [
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "cachedContentTokenCount",
  "toolUsePromptTokenCount",
  "totalTokenCount",
] as const;

/** Running totals of an answer. */
export type UsageFrame = { [field in (typeof USAGE_FIELDS)[number]]?: number | undefined };

/** Finish reasons that end a turn. What is not here and not in `FAULTS` is an end_turn. */
export const STOPS: Readonly<Record<string, ModelStop>> = {
  STOP: "end_turn",
  MAX_TOKENS: "max_tokens",
  SAFETY: "refusal",
  RECITATION: "refusal",
  LANGUAGE: "refusal",
  BLOCKLIST: "refusal",
  PROHIBITED_CONTENT: "refusal",
  SPII: "refusal",
  MODEL_ARMOR: "refusal",
  IMAGE_SAFETY: "refusal",
  IMAGE_PROHIBITED_CONTENT: "refusal",
  IMAGE_RECITATION: "refusal",
};

/** Finish reasons that are worth another try. */
export const FAULTS: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MALFORMED_RESPONSE",
]);

export const SIGNATURE = "gemini_signature";
export const CALL_ID = "gemini_call_id";

/** Stands in for a signature where the history came from elsewhere. */
export const SKIP_SIGNATURE = "skip_thought_signature_validator";

/** Generation of a model id, 0 when it does not say; `gemini-flash-latest` and its like have long been of the third. */
export function generation(model: string): number {
  if (/gemini-[a-z-]+-latest$/.test(model)) return 3;
  return Number(/gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 0);
}

/** How a model is told to think: by budget (2.5), by level (3 and later), not at all. */
export function thinkingStyle(model: string): "budget" | "level" | "none" {
  if (/image|tts|live|embedding|audio/.test(model)) return "none";
  const of = generation(model);
  return of >= 3 ? "level" : of >= 2.5 ? "budget" : "none";
}
