import { createD1AuditSink } from "./audit/d1-sink.ts";
import type { AuditSink } from "./contract/audit.ts";
import { Config } from "./contract/config.ts";
import type { Credentials } from "./contract/credentials.ts";
import type { SessionDirectory } from "./contract/directory.ts";
import type { NewId } from "./contract/ids.ts";
import type { RunConfig } from "./contract/log.ts";
import type { ModelProvider, ToolDefinition } from "./contract/model.ts";
import type { PermissionPolicy } from "./contract/permission.ts";
import type { Redactor, SecretScanner } from "./contract/redaction.ts";
import { type Answer, refuse } from "./contract/refusal.ts";
import { ok } from "./contract/result.ts";
import type { Sandbox } from "./contract/sandbox.ts";
import type { EgressFetch, ToolSet } from "./contract/tools.ts";
import { createD1Directory } from "./directory/d1-directory.ts";
import type { EngineDeps, EngineLimits } from "./engine/deps.ts";
import { extensions } from "./extensions.ts";
import { createModelRegistry, type ModelRegistry } from "./models/index.ts";
import { createPolicy } from "./permission/policy.ts";
import { DEFAULT_PROMPT, environmentPrompt } from "./prompts/default-prompt.ts";
import { type AiBinding, createProvider, PROVIDER_NAMES } from "./providers/index.ts";
import { commaList, type ProviderChoice } from "./run-plan.ts";
import { createMemorySandbox, createObjectSandbox, createWorkspaceTables } from "./sandbox/virtual/index.ts";
import { createSecretGuard, NOOP_GUARD } from "./secrets/guard/guard.ts";
import { createRedactor, secretProblem } from "./secrets/redactor/redactor.ts";
import { toHex } from "./shared/digest.ts";
import { checkUrl, createEgressFetch } from "./shared/egress.ts";
import { toModelTool } from "./tools/definition.ts";
import { createBuiltinTools } from "./tools/index.ts";
import { createToolSet } from "./tools/tool-set.ts";

/** What a deployment binds. D1 and R2 are optional: without them audit and memory stay in objects' SQLite. */
export type Bindings = {
  readonly DB?: D1Database;
  readonly MEMORY?: R2Bucket;
  /** Workers AI; optional as well. */
  readonly AI?: AiBinding;
  /** Worker vars and secrets, all text. */
  readonly [name: string]: unknown;
};

/** Time a tool gets beyond its own limit before the engine gives it up. */
const TOOL_GRACE_MS = 5_000;

/** The deployment's settings; a wrong one is named, and nothing starts with it. */
export function readConfig(env: Bindings): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = Config.safeParse(set);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`configuration: ${issue?.path.join(".")}: ${issue?.message}`);
}

export const newId: NewId = (prefix) => {
  const bytes = crypto.getRandomValues(new Uint8Array(prefix === "sess" ? 6 : 12));
  return `${prefix}_${toHex(bytes)}`;
};

/** What all runs of a deployment share; made once by whoever hosts runs, because tools and their schemas cost time. */
export type Deployment = {
  readonly env: Bindings;
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly tools: ToolSet;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly permission: PermissionPolicy;
  readonly guard: SecretScanner;
};

export function composeDeployment(env: Bindings, config: Config): Deployment {
  const builtin = createBuiltinTools({
    defaultTimeoutMs: config.TOOL_TIMEOUT_SECONDS * 1000,
    maxTimeoutMs: config.TOOL_TIMEOUT_MAX_SECONDS * 1000,
  });
  const tools = [...builtin, ...extensions.tools];
  return {
    env,
    config,
    models: composeModels(config),
    tools: createToolSet(tools),
    toolDefinitions: tools.map(toModelTool),
    permission: createPolicy({ allowedDomains: commaList(config.ALLOWED_DOMAINS) }),
    guard: composeGuard(config),
  };
}

/** The audit in D1; undefined where there is none. */
export function composeAudit(env: Bindings): AuditSink | undefined {
  return env.DB ? createD1AuditSink(env.DB) : undefined;
}

/** The list of sessions in D1; undefined where there is none. */
export function composeDirectory(env: Bindings): SessionDirectory | undefined {
  return env.DB ? createD1Directory(env.DB) : undefined;
}

/** A session's durable workspace: `prepare` makes its tables, once, when the session is made. */
export function composeSandbox(config: Config, storage: DurableObjectStorage): { sandbox: Sandbox; prepare(): void } {
  return {
    sandbox: createObjectSandbox(storage, { maxBytes: config.WORKSPACE_MAX_BYTES, now: Date.now }),
    prepare: () => createWorkspaceTables(storage.sql),
  };
}

/** The workspace of a stateless run: gone with it. */
export function composeMemorySandbox(config: Config): Sandbox {
  return createMemorySandbox({ maxBytes: config.WORKSPACE_MAX_BYTES, now: Date.now });
}

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
function makeProvider(
  { env, config, models }: Deployment,
  provider: string,
  credentials: Credentials | undefined,
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
    limits: {
      firstEventMs: config.UPSTREAM_FIRST_EVENT_SECONDS * 1000,
      idleMs: config.UPSTREAM_IDLE_SECONDS * 1000,
      totalMs: config.UPSTREAM_TOTAL_SECONDS * 1000,
    },
    retry: { tries: config.UPSTREAM_TRIES, retryAfterMaxMs: config.RETRY_AFTER_MAX_SECONDS * 1000 },
    lookup: (model) => models.info(model, provider),
    models: models.list().filter((model) => model.provider === provider),
  });
}

function setting(env: Bindings, name: string): string | undefined {
  const value = env[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The model registry of the deployment. */
function composeModels(config: Config): ModelRegistry {
  const main = config.MODEL_MAIN ?? config.DEFAULT_MODEL;
  const roles = { main, fast: config.MODEL_FAST, thinking: config.MODEL_THINKING };
  return createModelRegistry({ overrides: config.MODEL_OVERRIDES, roles });
}

function composeEgress(): EgressFetch {
  return createEgressFetch({ fetch: (url, init) => fetch(url, init) });
}

/** Secrets by name: the deployment's (`SECRET_<NAME>`), then the request's. They are a shell's environment. */
function secretsOf(env: Bindings, credentials: Credentials | undefined): Readonly<Record<string, string>> {
  const own = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith("SECRET_") && !NOT_SECRETS.has(name) && typeof value === "string" && value !== ""
      ? [[name.slice("SECRET_".length), value] as const]
      : [],
  );
  return { ...Object.fromEntries(own), ...credentials?.secrets };
}

/** Settings that only look like a secret's name. */
const NOT_SECRETS: ReadonlySet<string> = new Set(["SECRET_GUARD", "SECRET_GUARD_EXEMPT"]);

/** Hides every secret a run could show: registered ones, and the keys and tokens it is made with (R-2, S-5). */
export function composeRedactor(env: Bindings, credentials: Credentials | undefined): Redactor {
  const keys = Object.entries(env).flatMap(([name, value]) =>
    /_API_KEY$|_TOKEN$|^ENCRYPTION_KEY$/.test(name) && typeof value === "string" ? [[name, value] as const] : [],
  );
  const all = { ...Object.fromEntries(keys), PROVIDER_KEY: credentials?.key ?? "", ...secretsOf(env, credentials) };
  // Too short a value would hide half of every text; the request's are refused at the door, the deployment's left alone.
  const usable = Object.entries(all).filter(([name, value]) => secretProblem(name, value) === undefined);
  return createRedactor(Object.fromEntries(usable));
}

function composeGuard(config: Config): SecretScanner {
  if (config.SECRET_GUARD === "off") return NOOP_GUARD;
  return createSecretGuard({ exemptPaths: commaList(config.SECRET_GUARD_EXEMPT) });
}

export type EngineParts = {
  readonly deployment: Deployment;
  readonly run: RunConfig;
  readonly credentials: Credentials | undefined;
  readonly sandbox: Sandbox;
  readonly sessionId: string;
  /** Whether files outlive the run, so that long output can be kept there. */
  readonly spill: boolean;
};

/** The engine of one run, wired: the only place that names implementations. */
export function composeEngine(parts: EngineParts): Answer<EngineDeps> {
  const { deployment, run, sandbox } = parts;
  const { env, config } = deployment;
  const provider = makeProvider(deployment, run.provider, parts.credentials);
  if (!provider.ok) return provider;
  return ok({
    sessionId: parts.sessionId,
    provider: provider.value,
    models: deployment.models,
    tools: deployment.tools,
    toolDefinitions: deployment.toolDefinitions,
    permission: deployment.permission,
    guard: deployment.guard,
    sandbox,
    env: secretsOf(env, parts.credentials),
    redactor: composeRedactor(env, parts.credentials),
    fetch: composeEgress(),
    system: ({ system_prompt }, facts) => [
      { text: system_prompt ?? config.SYSTEM_PROMPT ?? DEFAULT_PROMPT, cache: true },
      { text: environmentPrompt({ cwd: facts.cwd, root: sandbox.root, backend: sandbox.backend }) },
    ],
    spill: parts.spill,
    now: Date.now,
    delay,
    newId,
    limits: limitsOf(config),
    observe: (name, data) => console.log(JSON.stringify({ event: name, ...data })),
  });
}

function limitsOf(config: Config): EngineLimits {
  return {
    maxOutputTokens: config.MAX_OUTPUT_TOKENS,
    permissionTimeoutMs: config.PERMISSION_TIMEOUT_SECONDS * 1000,
    toolOutputMaxBytes: config.TOOL_OUTPUT_MAX_BYTES,
    toolTimeoutMs: config.TOOL_TIMEOUT_SECONDS * 1000,
    toolGraceMs: TOOL_GRACE_MS,
    maxParallelTools: config.MAX_PARALLEL_TOOLS,
    maxRestarts: config.RUN_MAX_RESTARTS,
  };
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
