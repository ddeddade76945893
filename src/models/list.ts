import { type ModelInfo, ModelRole } from "../contract/model.ts";
import type { ModelRegistry } from "./index.ts";

/** Every model with its roles; a model that plays a role without being registered is listed as the estimate it is (P-1). */
export function listModels(registry: ModelRegistry): readonly (ModelInfo & { readonly roles: readonly ModelRole[] })[] {
  const listed = registry.list();
  const known = new Set(listed.map((model) => model.id));
  const named = ModelRole.options.flatMap((role) => registry.getRole(role) ?? []);
  const unlisted = [...new Set(named)].filter((id) => !known.has(id)).map((id) => ({ ...registry.info(id), id }));
  return [...listed, ...unlisted].map((model) => ({
    ...model,
    roles: ModelRole.options.filter((role) => registry.getRole(role) === model.id),
  }));
}
