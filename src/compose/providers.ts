import type { Credentials } from "../contract/credentials.ts";
import type { RunConfig } from "../contract/log.ts";
import type { ModelProvider } from "../contract/model.ts";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import { extensions } from "../extensions.ts";
import { createProvider, PROVIDER_NAMES } from "../providers/index.ts";
import type { ProviderChoice } from "../run-plan.ts";
import { checkUrl } from "../shared/egress.ts";
import { type Bindings, setting } from "./bindings.ts";
import type { Deployment } from "./deployment.ts";
import { composeRedactor } from "./secrets.ts";

/** Which providers a request may choose, and which it gets when it does not (G-2). */
export function composeChoice(deployment: Deployment): ProviderChoice {
  const { env, config } = deployment;
  const defaultProvider = config.DEFAULT_PROVIDER ?? PROVIDER_NAMES.find((name) => isConfigured(env, name)) ?? "demo";
  return {
    defaultProvider,
    defaultModel(provider) {
      const own = provider === defaultProvider ? (config.MODEL_MAIN ?? config.DEFAULT_MODEL) : undefined;
      const custom = extensions.providers.find(({ name }) => name === provider);
      return own ?? custom?.models()[0]?.id ?? DEFAULT_MODELS[provider];
    },
    async check(provider, credentials) {
      if (credentials?.base_url !== undefined) {
        const { verdict, reason } = await checkUrl(credentials.base_url);
        if (verdict !== "allow") return refuse("invalid_request_error", `X-Flyto-Provider-Base-Url: ${reason}`);
      }
      const made = makeProvider(deployment, provider, credentials);
      return made.ok ? ok(undefined) : made;
    },
    redactor: (credentials) => composeRedactor(env, credentials),
  };
}

/** Models a provider is asked for when neither the request nor the deployment names one. */
const DEFAULT_MODELS: Readonly<Record<string, string>> = {
  anthropic: "claude-sonnet-4-6",
  openai: "gpt-5.4",
  minimax: "MiniMax-M2.7",
  gemini: "gemini-2.5-pro",
  ollama: "llama3.3:latest",
  "workers-ai": "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
  demo: "demo",
};

function isConfigured(env: Bindings, provider: string): boolean {
  if (provider === "workers-ai") return env.AI !== undefined;
  const prefix = provider.toUpperCase();
  if (provider === "ollama" || provider === "lmstudio") return setting(env, `${prefix}_BASE_URL`) !== undefined;
  if (provider === "gemini" && setting(env, "GEMINI_BEARER_TOKEN") !== undefined) return true;
  return setting(env, `${prefix}_API_KEY`) !== undefined;
}

/** The provider of a run. The request's own address goes with its own key only, never with the deployment's (decisions 11). */
export function makeProvider(
  { env, config, models }: Deployment,
  provider: string,
  credentials: Credentials | undefined,
  limits: { readonly firstEventMs: number; readonly idleMs: number; readonly totalMs: number } = {
    firstEventMs: config.UPSTREAM_FIRST_EVENT_SECONDS * 1000,
    idleMs: config.UPSTREAM_IDLE_SECONDS * 1000,
    totalMs: config.UPSTREAM_TOTAL_SECONDS * 1000,
  },
): Answer<ModelProvider> {
  const custom = extensions.providers.find(({ name }) => name === provider);
  if (custom) return ok(custom);
  const prefix = provider.toUpperCase();
  return createProvider(provider, {
    apiKey: credentials?.key ?? setting(env, `${prefix}_API_KEY`),
    bearerToken:
      credentials?.key !== undefined || provider !== "gemini" ? undefined : setting(env, "GEMINI_BEARER_TOKEN"),
    baseUrl: credentials?.base_url ?? setting(env, `${prefix}_BASE_URL`),
    binding: env.AI,
    fetch: (input, init) => fetch(input, init),
    limits,
    retry: { tries: config.UPSTREAM_TRIES, retryAfterMaxMs: config.RETRY_AFTER_MAX_SECONDS * 1000 },
    lookup: (model) => models.info(model, provider),
    models: models.list().filter((model) => model.provider === provider),
  });
}

/**
 * The fast role of a run: the deployment's fast model where the run's provider has it, else the run's own. A client
 * of its own, so that its time limit is not the main model's.
 */
export function fastModel(
  deployment: Deployment,
  run: RunConfig,
  credentials: Credentials | undefined,
): { provider: ModelProvider; model: string } | undefined {
  const { config, models } = deployment;
  const role = models.getRole("fast");
  const fits = role !== undefined && models.info(role).provider === run.provider;
  const model = config.MODEL_FAST ?? (fits ? role : run.model);
  const ms = config.FAST_CALL_SECONDS * 1000;
  const limits = { firstEventMs: ms, idleMs: ms, totalMs: ms };
  const made = makeProvider(deployment, run.provider, credentials, limits);
  return made.ok ? { provider: made.value, model } : undefined;
}
