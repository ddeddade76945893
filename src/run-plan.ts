import type { Config } from "./contract/config.ts";
import type { Credentials } from "./contract/credentials.ts";
import type { RunPlan } from "./contract/log.ts";
import { joinRules, type PermissionMode } from "./contract/permission.ts";
import type { Redactor } from "./contract/redaction.ts";
import { type Answer, refuse } from "./contract/refusal.ts";
import type { RunRequest } from "./contract/requests.ts";
import { ok } from "./contract/result.ts";
import type { Caller } from "./contract/sessions.ts";
import { familyOf } from "./prompts/index.ts";
import { secretProblem } from "./secrets/redactor/redactor.ts";

/** What a plan needs to know of the deployment's providers. */
export type ProviderChoice = {
  /** Used when the request names none. */
  readonly defaultProvider: string;
  /** The model of a provider when the request names none; undefined = the request must. */
  defaultModel(provider: string): string | undefined;
  /** Whether a call could be made at all: known name, key present (the request's own counts). */
  check(provider: string, credentials: Credentials | undefined): Promise<Answer<void>>;
  /** Hides the deployment's and the request's secrets. */
  redactor(credentials: Credentials | undefined): Redactor;
};

export type PlannedRun = { readonly plan: RunPlan; readonly credentials?: Credentials };

const STRICTNESS: readonly PermissionMode[] = ["bypass", "default", "ask_edits", "plan"];

/** Turns a request into a run, or says what is wrong with it, before anything is stored or asked of a model. */
export async function planRun(
  config: Config,
  choice: ProviderChoice,
  caller: Caller,
  request: RunRequest,
  options: { readonly runId: string; readonly interactive: boolean },
): Promise<Answer<PlannedRun>> {
  const own = caller.settings;
  const defaultProvider = own?.default_provider ?? choice.defaultProvider;
  const named = caller.provider?.name;
  // A key must not travel to another provider than the one it was sent for.
  if (named !== undefined && request.provider !== undefined && request.provider.toLowerCase() !== named) {
    return refuse("invalid_request_error", "provider: names another provider than X-Flyto-Provider does");
  }
  const provider = request.provider ?? named ?? defaultProvider;
  const credentials = ownCredentials(caller, request.secrets);
  for (const [name, value] of Object.entries(request.secrets ?? {})) {
    const problem = secretProblem(name, value);
    if (problem !== undefined) return refuse("invalid_request_error", problem);
  }
  if (credentials && options.interactive && !config.ENCRYPTION_KEY) {
    return refuse(
      "invalid_request_error",
      "X-Flyto-Provider-Key and secrets in a session need ENCRYPTION_KEY to be set: a waiting run is unloaded, and they must not be stored in clear",
    );
  }
  const usable = await choice.check(provider, credentials);
  if (!usable.ok) return usable;
  // A tenant's default model belongs to its default provider; another provider would not know it.
  const ownModel = provider === defaultProvider ? own?.default_model : undefined;
  const model = request.model ?? ownModel ?? choice.defaultModel(provider);
  if (model === undefined) {
    return refuse(
      "invalid_request_error",
      `model is required: provider ${provider} has no default model (DEFAULT_MODEL)`,
    );
  }
  const allowed = commaList(config.ALLOWED_MODELS ?? "");
  if (allowed.length > 0 && !allowed.includes(model)) {
    return refuse("invalid_request_error", "model is not one of ALLOWED_MODELS");
  }
  if (own?.allowed_models && !own.allowed_models.includes(model)) {
    return refuse("invalid_request_error", "model is not one of those this tenant may use");
  }
  const floor = stricter(config.PERMISSION_MODE, own?.permission_mode ?? config.PERMISSION_MODE);
  const mode = request.permission_mode ?? floor;
  if (stricter(mode, floor) !== mode) {
    return refuse("invalid_request_error", `permission_mode must not be looser than ${floor}`);
  }
  const rules = own?.permission_rules || request.permission_rules;
  const { system_prompt, max_cost_usd, thinking_budget, effort, fast_mode } = request;
  // What is stored and sent to a model never holds a registered secret, the prompt included (S-5).
  const { redact, redactJson } = choice.redactor(credentials);
  return ok({
    plan: {
      config: {
        run_id: options.runId,
        provider,
        model,
        ...allowedModels(allowed, own?.allowed_models),
        max_turns: Math.min(request.max_turns ?? config.MAX_TURNS, config.MAX_TURNS),
        stop_sequences: request.stop_sequences ?? [],
        permission_mode: mode,
        ...(mode === "plan" && floor !== "plan" ? { mode_after_plan: floor } : {}),
        ...(rules ? { rules: joinRules(own?.permission_rules, request.permission_rules) } : {}),
        bundle: request.bundle ?? {
          model_family: config.DEFAULT_MODEL_FAMILY?.toLowerCase() ?? familyOf(model),
          scenario: config.DEFAULT_SCENARIO.toLowerCase(),
        },
        actor_id: redact(request.actor_id ?? ""),
        metadata: redactJson(request.metadata ?? {}),
        own_credentials: credentials !== undefined,
        interactive: options.interactive,
        ...given({
          system_prompt: system_prompt && redact(system_prompt),
          max_cost_usd,
          thinking_budget,
          effort,
          fast_mode,
        }),
      },
      content: [
        ...(request.images ?? []).map((image) => ({ type: "image" as const, ...image })),
        { type: "text", text: redact(request.prompt) },
      ],
    },
    ...(credentials ? { credentials } : {}),
  });
}

/** Models that both the deployment and the tenant allow; a list that is missing allows all. */
function allowedModels(
  deployment: readonly string[],
  own: readonly string[] | undefined,
): { allowed_models?: string[] } {
  if (deployment.length === 0) return own ? { allowed_models: [...own] } : {};
  return { allowed_models: own ? deployment.filter((model) => own.includes(model)) : [...deployment] };
}

function stricter(a: PermissionMode, b: PermissionMode): PermissionMode {
  return STRICTNESS.indexOf(a) < STRICTNESS.indexOf(b) ? b : a;
}

function ownCredentials(caller: Caller, secrets: Readonly<Record<string, string>> = {}): Credentials | undefined {
  const own = caller.provider;
  const hasSecrets = Object.keys(secrets).length > 0;
  if (own?.key === undefined && !hasSecrets) return undefined;
  return {
    ...(own?.key === undefined ? {} : { key: own.key }),
    ...(own?.baseUrl === undefined ? {} : { base_url: own.baseUrl }),
    ...(hasSecrets ? { secrets: { ...secrets } } : {}),
  };
}

/** Leaves out what was not given: an optional field is absent, not undefined. */
function given<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export function commaList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
