import { createBookAudit, createBookDirectory } from "../durable-objects/object-directory.ts";
import type { RateLimiter } from "../durable-objects/rate-limiter.ts";
import { createObjectLimiter } from "../durable-objects/rate-limiter-port.ts";
import type { Session } from "../durable-objects/session.ts";
import { createObjectAuditLog } from "../durable-objects/session-audit.ts";
import { createObjectSessions } from "../durable-objects/session-port.ts";
import { createD1AuditLog } from "./audit/d1-log.ts";
import { type Bindings, newId, readConfig, settingFault } from "./compose/bindings.ts";
import { composeDeployment, type Deployment } from "./compose/deployment.ts";
import { composeEngine } from "./compose/engine.ts";
import { composeMcp, withMcpTools } from "./compose/mcp.ts";
import { composeAudit, composeDirectory } from "./compose/ports.ts";
import { composeChoice } from "./compose/providers.ts";
import { composeMemorySandbox } from "./compose/sandbox.ts";
import type { AuditLog } from "./contract/audit.ts";
import type { Config } from "./contract/config.ts";
import type { ToolDefinition } from "./contract/model.ts";
import { ok } from "./contract/result.ts";
import type { RunnerPort } from "./contract/sessions.ts";
import type { TenantsPort } from "./contract/tenants.ts";
import { createApp } from "./http/app.ts";
import type { HttpLog } from "./http/deps.ts";
import { createMisconfiguredApp } from "./http/misconfigured.ts";
import { createSingleTokenTenants } from "./http/tenants.ts";
import { createMemoryStore, type Mcp } from "./mcp/index.ts";
import { listModels } from "./models/list.ts";
import { type ProviderChoice, planRun } from "./run-plan.ts";
import { statelessRun } from "./session/stateless-run.ts";
import { createD1Tenants } from "./tenants/d1-tenants.ts";

export type WorkerEnv = Bindings & {
  readonly SESSION: DurableObjectNamespace<Session>;
  readonly LIMITER: DurableObjectNamespace<RateLimiter>;
};

const log: HttpLog = (level, message, fields) => console[level](JSON.stringify({ message, ...fields }));

/**
 * The Worker's HTTP surface. Where a setting is wrong, it says so once in the log and in every answer (H-10), and does
 * nothing else; an error of another kind stays in the log.
 */
export function composeWorker(env: WorkerEnv): ReturnType<typeof createApp> {
  try {
    return composeApp(env);
  } catch (error) {
    const fault = settingFault(error);
    const detail = error instanceof Error ? (error.stack ?? error.message) : "a value that is no Error was thrown";
    log("error", fault ?? "the deployment could not be made", fault === undefined ? { error: detail } : {});
    return createMisconfiguredApp({ now: Date.now, newId, log }, fault ?? "internal error");
  }
}

/** The HTTP surface over the objects of this deployment. */
export function composeApp(env: WorkerEnv): ReturnType<typeof createApp> {
  const config = readConfig(env);
  const deployment = composeDeployment(env, config);
  const choice = composeChoice(deployment);
  return createApp({
    config,
    now: Date.now,
    newId,
    log,
    tenants: composeTenants(env, config),
    audit: composeAuditLog(env, config),
    limiter: createObjectLimiter(env.LIMITER),
    listTools: composeToolList(deployment),
    models: listModels(deployment.models),
    runner: composeRunner(env, deployment, choice),
    sessions: createObjectSessions({
      namespace: env.SESSION,
      directory: composeDirectory(env) ?? createBookDirectory(env.SESSION),
      newId,
      now: Date.now,
      plan: (caller, request, runId) => planRun(config, choice, caller, request, { runId, interactive: true }),
    }),
  });
}

/** Who may call: the one token of the deployment, and the tenants of D1 where there is one (G-5). */
function composeTenants(env: WorkerEnv, config: Config): TenantsPort {
  const single = createSingleTokenTenants(config.BEARER_TOKEN);
  return env.DB ? createD1Tenants({ database: env.DB, single, now: Date.now }) : single;
}

/** The audit as callers read it: from D1, else from each session. */
function composeAuditLog(env: WorkerEnv, config: Config): AuditLog {
  if (!env.DB) return createObjectAuditLog(env.SESSION);
  return createD1AuditLog({
    database: env.DB,
    secret: config.ENCRYPTION_KEY,
    liveHead: (tenant, sessionId) => env.SESSION.getByName(`${tenant}/${sessionId}`).auditHead(),
  });
}

/** The list of H-8. Sessions at MCP servers are ended at once: nothing is called in them. */
function composeToolList(deployment: Deployment): () => Promise<readonly ToolDefinition[]> {
  const mcp = composeMcp(deployment, createMemoryStore());
  if (!mcp) return async () => deployment.toolDefinitions;
  return async () => {
    const tools = await mcp.tools(crypto.randomUUID());
    await mcp.close();
    return withMcpTools(deployment, tools).toolDefinitions;
  };
}

/** The same steps; the run's sessions at MCP servers end with them. */
async function* closing(steps: AsyncIterable<string>, mcp: Mcp | undefined): AsyncGenerator<string, void> {
  try {
    yield* steps;
  } finally {
    await mcp?.close();
  }
}

/** Stateless runs (H-2): the engine in the Worker itself, over memory. */
function composeRunner(env: WorkerEnv, deployment: Deployment, choice: ProviderChoice): RunnerPort {
  const { config } = deployment;
  return {
    async run(caller, request, signal) {
      const planned = await planRun(config, choice, caller, request, { runId: newId("run"), interactive: false });
      if (!planned.ok) return planned;
      const { plan, credentials } = planned.value;
      const sandbox = composeMemorySandbox(config);
      const sessionId = plan.config.run_id;
      // Sessions at MCP servers are the run's own: what one caller did in them is no other caller's.
      const mcp = composeMcp(deployment, createMemoryStore());
      const equipped = mcp ? withMcpTools(deployment, await mcp.tools(sessionId)) : deployment;
      const parts = { run: plan.config, credentials, sandbox, sessionId, spill: false };
      const deps = composeEngine({ deployment: equipped, ...parts });
      if (!deps.ok) {
        await mcp?.close();
        return deps;
      }
      const opening = [
        { kind: "run_started", config: plan.config } as const,
        { kind: "user", content: plan.content } as const,
      ];
      const audit = composeAudit(env) ?? createBookAudit(env.SESSION);
      return ok(closing(statelessRun(opening, deps.value, audit, caller.tenant, signal), mcp));
    },
  };
}
