import { estimateTokens } from "../context/estimate.ts";
import type { Config } from "../contract/config.ts";
import type { Credentials } from "../contract/credentials.ts";
import type { RunConfig } from "../contract/log.ts";
import type { Answer } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import type { EngineDeps, EngineLimits } from "../engine/deps.ts";
import { createClassifier } from "../permission/classifier.ts";
import { commaList } from "../run-plan.ts";
import { delay } from "../shared/delay.ts";
import { newId } from "./bindings.ts";
import type { Deployment } from "./deployment.ts";
import { composeEgress } from "./egress.ts";
import { composePrompt } from "./prompt.ts";
import { fastModel, makeProvider } from "./providers.ts";
import { composeRedactor, secretsOf } from "./secrets.ts";

/** Time a tool gets beyond its own limit before the engine gives it up. */
const TOOL_GRACE_MS = 5_000;

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
    fetch: composeEgress(config),
    prompt: composePrompt(deployment, sandbox),
    estimateTokens,
    fast: fastModel(deployment, run, parts.credentials),
    classifier: composeClassifier(config),
    strict: strictMode(config),
    spill: parts.spill,
    now: Date.now,
    delay,
    newId,
    limits: limitsOf(config),
    observe: (name, data) => console.log(JSON.stringify({ event: name, ...data })),
  });
}

function composeClassifier(config: Config): EngineDeps["classifier"] {
  const maxRisk = config.PERMISSION_CLASSIFIER;
  return maxRisk === "off" ? undefined : (call) => createClassifier({ call, maxRisk, now: Date.now });
}

function strictMode(config: Config): EngineDeps["strict"] {
  const parts = commaList(config.STRICT_MODE);
  return { toolResultPairing: parts.includes("tool_result_pairing"), compaction: parts.includes("compaction") };
}

function limitsOf(config: Config): EngineLimits {
  return {
    maxOutputTokens: config.MAX_OUTPUT_TOKENS,
    permissionTimeoutMs: config.PERMISSION_TIMEOUT_SECONDS * 1000,
    toolOutputMaxBytes: config.TOOL_OUTPUT_MAX_BYTES,
    toolTimeoutMs: config.TOOL_TIMEOUT_SECONDS * 1000,
    toolGraceMs: TOOL_GRACE_MS,
    maxParallelTools: config.MAX_PARALLEL_TOOLS,
    maxParallelModelCalls: config.MAX_PARALLEL_MODEL_CALLS,
    maxAgents: config.MAX_SUBAGENTS,
    permissionCheckMs: config.PERMISSION_CHECK_SECONDS * 1000,
    compactAt: config.COMPACT_AT,
    fastCallMs: config.FAST_CALL_SECONDS * 1000,
    maxRestarts: config.RUN_MAX_RESTARTS,
  };
}
