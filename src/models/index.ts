import type { ModelCatalog, ModelInfo, ModelRole } from "../contract/model.ts";
import { costNano, NANO } from "./cost.ts";
import { type ModelOverrides, readOverrides } from "./overrides.ts";
import { DEFAULT_WINDOW, FREE_PROVIDERS, PRESETS, preset, SONNET_PRICES } from "./presets.ts";

export { type ModelOverrides, readOverrides } from "./overrides.ts";
export { PRICES_2026_AUTUMN } from "./prices-2026-autumn.ts";

/** Roles without configuration; `embed` has none. */
const DEFAULT_ROLES: Readonly<Partial<Record<ModelRole, string>>> = {
  main: "claude-sonnet-4-6",
  fast: "claude-haiku-4-5",
  thinking: "claude-sonnet-4-6",
};

export type ModelRegistryOptions = {
  /** `MODEL_OVERRIDES`: JSON text, or its value. */
  readonly overrides?: string | ModelOverrides | undefined;
  readonly roles?: Readonly<Partial<Record<ModelRole, string | undefined>>> | undefined;
};

/** The model registry: what models are, what they cost, and which one plays which role. */
export type ModelRegistry = ModelCatalog & {
  register(info: ModelInfo): void;
  /** The model need not be registered. */
  setRole(role: ModelRole, model: string): void;
  getRole(role: ModelRole): string | undefined;
  getConfig(model: string): ModelInfo;
  getConfigForRole(role: ModelRole): ModelInfo | undefined;
  contextWindow(model: string): number;
  /** USD. */
  estimateCost(model: string, input: number, output: number, cacheRead: number, cacheWrite: number): number;
  estimateSimpleCost(model: string, input: number, output: number): number;
  list(): readonly ModelInfo[];
};

/** A registry of its own per deployment or tenant. Throws on unreadable overrides, naming the setting: nothing may start with a wrong price. */
export function createModelRegistry(options: ModelRegistryOptions = {}): ModelRegistry {
  const models = new Map(PRESETS.map((info) => [info.id, info]));
  const roles = new Map<ModelRole, string>();
  for (const role of ["main", "fast", "thinking", "embed"] as const) {
    const model = options.roles?.[role] || DEFAULT_ROLES[role];
    if (model) roles.set(role, model);
  }
  for (const [id, fields] of Object.entries(overridesOf(options.overrides)))
    models.set(id, merge(models.get(id) ?? unknownModel(id), id, fields));

  const info = (model: string, provider?: string): ModelInfo => {
    const known = models.get(model) ?? models.get(baseId(model));
    const found = known ?? unknownModel(model, provider);
    // A local server's models cost nothing, whatever a model of the same name costs elsewhere.
    return provider !== undefined && FREE_PROVIDERS.has(provider) ? free(found, provider) : found;
  };
  const registry: ModelRegistry = {
    info,
    costNano,
    register: (model) => void models.set(model.id, model),
    setRole: (role, model) => void roles.set(role, model),
    getRole: (role) => roles.get(role),
    getConfig: (model) => info(model),
    getConfigForRole(role) {
      const model = roles.get(role);
      return model === undefined ? undefined : info(model);
    },
    contextWindow: (model) => info(model).context_window,
    estimateCost: (model, input, output, cache_read, cache_write) =>
      costNano(info(model), { input, output, cache_read, cache_write }) / NANO,
    estimateSimpleCost: (model, input, output) => registry.estimateCost(model, input, output, 0, 0),
    list: () => [...models.values()],
  };
  return registry;
}

function overridesOf(value: string | ModelOverrides | undefined): ModelOverrides {
  if (typeof value === "object") return value;
  const read = readOverrides(value);
  if (!read.ok) throw new Error(`configuration: ${read.error.message}`);
  return read.value;
}

const PRICE_FIELDS = ["input_price_per_1m", "output_price_per_1m"] as const;

function merge(base: ModelInfo, id: string, fields: ModelOverrides[string]): ModelInfo {
  const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const { estimated, ...rest } = base;
  // Whoever gives both prices has made the estimate a price.
  const priced = PRICE_FIELDS.every((field) => fields[field] !== undefined);
  return { ...rest, ...set, id, ...(estimated && !priced ? { estimated: true } : {}) };
}

/** Dated and routed ids name a known model: `claude-sonnet-4-6-20260115`, `anthropic/claude-sonnet-4.6:beta`. */
function baseId(model: string): string {
  const routed = model.includes("/");
  const name = model.slice(model.lastIndexOf("/") + 1);
  // Routers put a variant behind a colon and write Claude's numbers with a dot.
  const own = routed ? name.replace(/:[a-z]+$/, "").replace(/^(claude-.*\d)\.(\d)/, "$1-$2") : name;
  return own.replace(/(?:[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-latest)$/, "");
}

/** An unknown model: default window, Sonnet's prices, marked. Capabilities are assumed, since most new models have them. */
function unknownModel(id: string, provider = "unknown"): ModelInfo {
  return preset(id, id, provider, DEFAULT_WINDOW, 16_384, SONNET_PRICES, "cti", true);
}

function free(info: ModelInfo, provider: string): ModelInfo {
  const { estimated: _, ...rest } = info;
  return {
    ...rest,
    provider,
    input_price_per_1m: 0,
    output_price_per_1m: 0,
    cache_read_price_per_1m: 0,
    cache_write_price_per_1m: 0,
  };
}
