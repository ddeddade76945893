import type { Config } from "../contract/config.ts";
import type { ToolDefinition } from "../contract/model.ts";
import { joinRules, type PermissionPolicy, type PermissionRules } from "../contract/permission.ts";
import type { SecretScanner } from "../contract/redaction.ts";
import type { Skill } from "../contract/skills.ts";
import type { ToolSet } from "../contract/tools.ts";
import { extensions } from "../extensions.ts";
import type { ModelRegistry } from "../models/index.ts";
import { createPolicy } from "../permission/policy.ts";
import { type BundleRegistry, createBundleRegistry } from "../prompts/index.ts";
import { isProviderName, PROVIDER_NAMES } from "../providers/index.ts";
import { commaList } from "../run-plan.ts";
import { toModelTool } from "../tools/definition.ts";
import { createBuiltinTools } from "../tools/index.ts";
import { createToolSet } from "../tools/tool-set.ts";
import { type Bindings, settingError } from "./bindings.ts";
import { composeResolver } from "./egress.ts";
import { mcpServers } from "./mcp-servers.ts";
import { composeModels } from "./models.ts";
import { createPromptMeasure, type PromptMeasure } from "./prompt-measure.ts";
import { checkSandbox } from "./sandbox.ts";
import { composeGuard } from "./secrets.ts";

/** What all runs of a deployment share; made once by whoever hosts runs, because tools and their schemas cost time. */
export type Deployment = {
  readonly env: Bindings;
  readonly config: Config;
  readonly models: ModelRegistry;
  readonly tools: ToolSet;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly permission: PermissionPolicy;
  readonly guard: SecretScanner;
  readonly bundles: BundleRegistry;
  readonly promptMeasure: PromptMeasure;
  readonly skills: readonly Skill[];
};

/** Deployments of this isolate by their environment. Nothing in one belongs to a session, a tenant or a request. */
const shared = new WeakMap<Bindings, Deployment>();

/** The deployment of an environment: made once an isolate, since all sessions of it would make the same. */
export function sharedDeployment(env: Bindings, config: Config): Deployment {
  const known = shared.get(env);
  if (known) return known;
  const made = composeDeployment(env, config);
  shared.set(env, made);
  return made;
}

function composePolicy(config: Config): PermissionPolicy {
  const allowedDomains = commaList(config.ALLOWED_DOMAINS);
  const policy = createPolicy({
    allowedDomains,
    rules: joinRules(config.PERMISSION_RULES),
    resolve: composeResolver(config),
  });
  for (const [tool, cls] of Object.entries(extensions.toolClasses)) policy.registerToolClass(tool, cls);
  return policy;
}

/** A rule for a tool that is not there protects nothing (G-1). Which tools MCP servers have is known only in a run. */
function checkRules(rules: PermissionRules, tools: ToolSet): void {
  for (const [kind, texts] of Object.entries(rules)) {
    for (const name of (texts ?? []).map((text) => text.split("(", 1)[0] ?? "")) {
      if (name.includes("*") || name.startsWith("mcp__") || tools.get(name)) continue;
      const there = tools.list().map((tool) => tool.name);
      const why = `${kind} names the tool ${name}, which does not exist; there are ${there.join(", ")}`;
      throw settingError("PERMISSION_RULES", why);
    }
  }
}

function checkProvider({ DEFAULT_PROVIDER: name }: Config): void {
  const own = extensions.providers.map((provider) => provider.name);
  if (name === undefined || isProviderName(name) || own.includes(name)) return;
  throw settingError("DEFAULT_PROVIDER", `must be one of ${[...PROVIDER_NAMES, ...own].join(", ")}`);
}

/** Throws when a setting or an extension is wrong: nothing starts with it. */
export function composeDeployment(env: Bindings, config: Config): Deployment {
  mcpServers(env, config);
  checkSandbox(env, config);
  checkProvider(config);
  const skills = [...(config.SKILLS ?? []), ...extensions.skills];
  const builtin = createBuiltinTools({
    skills,
    defaultTimeoutMs: config.TOOL_TIMEOUT_SECONDS * 1000,
    maxTimeoutMs: config.TOOL_TIMEOUT_MAX_SECONDS * 1000,
  });
  const tools = [...builtin, ...extensions.tools];
  const toolSet = createToolSet(tools);
  checkRules(joinRules(config.PERMISSION_RULES), toolSet);
  const toolDefinitions = tools.map(toModelTool);
  return {
    env,
    config,
    models: composeModels(config),
    tools: toolSet,
    toolDefinitions,
    promptMeasure: createPromptMeasure(toolDefinitions),
    permission: composePolicy(config),
    guard: composeGuard(config),
    bundles: createBundleRegistry({ bundles: extensions.bundles }),
    skills,
  };
}
