import type { Config } from "../contract/config.ts";
import { createModelRegistry, type ModelRegistry } from "../models/index.ts";

/** The model registry of the deployment. */
export function composeModels(config: Config): ModelRegistry {
  const main = config.MODEL_MAIN ?? config.DEFAULT_MODEL;
  const roles = { main, fast: config.MODEL_FAST, thinking: config.MODEL_THINKING };
  return createModelRegistry({ overrides: config.MODEL_OVERRIDES, roles });
}
