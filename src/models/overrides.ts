import { z } from "zod";
import { ModelInfo } from "../contract/model.ts";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";

/** What `MODEL_OVERRIDES` may say about a model, by its id. A misspelt field is refused, not ignored. */
export const ModelOverrides = z.record(
  z.string().min(1),
  ModelInfo.omit({ id: true, estimated: true }).partial().strict(),
);
export type ModelOverrides = z.infer<typeof ModelOverrides>;

/** Reads `MODEL_OVERRIDES` (G-2): a JSON object of model id → fields that differ. */
export function readOverrides(text: string | undefined): Answer<ModelOverrides> {
  if (text === undefined || text.trim() === "") return ok({});
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse("invalid_request_error", "MODEL_OVERRIDES is no valid JSON");
  }
  const parsed = ModelOverrides.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const issue = parsed.error.issues[0];
  return refuse(
    "invalid_request_error",
    `MODEL_OVERRIDES: ${issue?.path.join(".") || "value"}: ${issue?.message ?? "is invalid"}`,
  );
}
