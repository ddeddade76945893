import type { ModelProvider } from "../contract/model.ts";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import { ANTHROPIC_BASE_URL, createAnthropic } from "./anthropic/index.ts";
import { createDemo } from "./demo/index.ts";
import { createGemini, GEMINI_BASE_URL } from "./gemini/index.ts";
import { createLmstudio, LMSTUDIO_BASE_URL } from "./lmstudio/index.ts";
import { createMinimax, MINIMAX_BASE_URL } from "./minimax/index.ts";
import { createOllama, OLLAMA_BASE_URL } from "./ollama/index.ts";
import { createOpenai, OPENAI_BASE_URL } from "./openai/index.ts";
import { createOpenrouter, OPENROUTER_BASE_URL } from "./openrouter/index.ts";
import type { ProviderSettings } from "./transport/settings.ts";
import { createWorkersAi } from "./workers-ai/index.ts";

export type { AiBinding, Clock, ProviderSettings, RetryPolicy, StreamLimits } from "./transport/settings.ts";

type Entry = {
  readonly create: (settings: ProviderSettings) => ModelProvider;
  /** Where requests go when no base URL is set; undefined = nowhere. */
  readonly baseUrl: string | undefined;
  readonly needsKey: boolean;
};

const PROVIDERS = {
  anthropic: { create: createAnthropic, baseUrl: ANTHROPIC_BASE_URL, needsKey: true },
  openai: { create: createOpenai, baseUrl: OPENAI_BASE_URL, needsKey: true },
  openrouter: { create: createOpenrouter, baseUrl: OPENROUTER_BASE_URL, needsKey: true },
  minimax: { create: createMinimax, baseUrl: MINIMAX_BASE_URL, needsKey: true },
  gemini: { create: createGemini, baseUrl: GEMINI_BASE_URL, needsKey: true },
  ollama: { create: createOllama, baseUrl: OLLAMA_BASE_URL, needsKey: false },
  lmstudio: { create: createLmstudio, baseUrl: LMSTUDIO_BASE_URL, needsKey: false },
  "workers-ai": { create: createWorkersAi, baseUrl: undefined, needsKey: false },
  demo: { create: createDemo, baseUrl: undefined, needsKey: false },
} as const satisfies Readonly<Record<string, Entry>>;

export type ProviderName = keyof typeof PROVIDERS;

/** Every provider of R-1 and the offline stand-in, in the order they are looked for. */
export const PROVIDER_NAMES: readonly ProviderName[] = [
  "anthropic",
  "openai",
  "openrouter",
  "minimax",
  "gemini",
  "ollama",
  "lmstudio",
  "workers-ai",
  "demo",
];

export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name);
}

export function defaultBaseUrl(name: ProviderName): string | undefined {
  return PROVIDERS[name].baseUrl;
}

/** Makes a provider by name. What is missing or wrong is refused by the name of its setting (G-2). */
export function createProvider(name: string, settings: ProviderSettings): Answer<ModelProvider> {
  if (!isProviderName(name))
    return refuse("invalid_request_error", `provider must be one of ${PROVIDER_NAMES.join(", ")}`);
  const entry: Entry = PROVIDERS[name];
  const prefix = name.toUpperCase();
  const base = settings.baseUrl === undefined || settings.baseUrl === "" ? undefined : settings.baseUrl.trim();
  const fault = base === undefined ? undefined : baseUrlFault(base);
  if (fault) return refuse("invalid_request_error", `${prefix}_BASE_URL ${fault}`);
  const vertex = name === "gemini" && hasValue(settings.bearerToken);
  if (vertex && base === undefined) {
    return refuse(
      "invalid_request_error",
      "GEMINI_BASE_URL is required with GEMINI_BEARER_TOKEN (https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/google)",
    );
  }
  if (name === "workers-ai" && !settings.binding) {
    return refuse("invalid_request_error", 'the binding AI is not set: workers-ai needs [ai] binding = "AI"');
  }
  if (entry.needsKey && !vertex && !hasValue(settings.apiKey)) {
    const or = name === "gemini" ? " or GEMINI_BEARER_TOKEN" : "";
    return refuse("invalid_request_error", `${prefix}_API_KEY${or} is not set: the provider ${name} needs a key`);
  }
  // A header value with a line break would be refused by fetch, with the key in the error's text.
  for (const [setting, value] of [
    ["API_KEY", settings.apiKey],
    ["BEARER_TOKEN", settings.bearerToken],
  ] as const) {
    if (value !== undefined && !/^[\x20-\x7e]*$/.test(value.trim()))
      return refuse("invalid_request_error", `${prefix}_${setting} has characters a header cannot carry`);
  }
  return ok(
    entry.create({
      ...settings,
      apiKey: settings.apiKey?.trim(),
      bearerToken: settings.bearerToken?.trim(),
      baseUrl: base,
    }),
  );
}

function hasValue(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== "";
}

function baseUrlFault(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "is no valid URL";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must begin with https:// or http://";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  return url.search !== "" || url.hash !== "" ? "must not have a query or a fragment" : undefined;
}
