import type { Context } from "hono";
import type { AuditLog } from "../contract/audit.ts";
import type { Config } from "../contract/config.ts";
import type { NewId } from "../contract/ids.ts";
import type { ModelInfo, ModelRole, ToolDefinition } from "../contract/model.ts";
import type { LimiterPort, RunnerPort, SessionsPort } from "../contract/sessions.ts";
import type { FoundTenant, TenantsPort } from "../contract/tenants.ts";

/** One line of the server's log. Fields never hold a header, a body or a query. */
export type HttpLog = (level: "info" | "error", message: string, fields: Readonly<Record<string, unknown>>) => void;

/** A model of the registry and the roles it plays. */
export type ModelListing = ModelInfo & { readonly roles: readonly ModelRole[] };

/** Everything the HTTP surface is given; it reaches nothing else. */
export type AppDeps = {
  readonly sessions: SessionsPort;
  readonly runner: RunnerPort;
  readonly limiter: LimiterPort;
  readonly tenants: TenantsPort;
  readonly audit: AuditLog;
  /** Tools of the deployment, those of its MCP servers that answer included. */
  readonly listTools: () => Promise<readonly ToolDefinition[]>;
  readonly models: readonly ModelListing[];
  readonly config: Config;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: NewId;
  readonly log: HttpLog;
};

/** Who asks, as far as the bearer token tells: `none` without a header, `wrong` when nobody has the token. */
export type Identity =
  | ({ readonly kind: "tenant" } & FoundTenant)
  | { readonly kind: "anonymous" }
  | { readonly kind: "none" }
  | { readonly kind: "wrong" };

/** `identity` is found out once a request; `tenant` is set when the request may pass. */
export type AppEnv = { Variables: { requestId: string; identity?: Identity; tenant: string } };
export type AppContext = Context<AppEnv>;
