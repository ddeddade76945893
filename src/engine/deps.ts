import type { SessionFacts } from "../contract/facts.ts";
import type { NewId } from "../contract/ids.ts";
import type { RunConfig } from "../contract/log.ts";
import type { ModelCatalog, ModelProvider, ModelRequest, ToolDefinition } from "../contract/model.ts";
import type { PermissionPolicy } from "../contract/permission.ts";
import type { Redactor, SecretScanner } from "../contract/redaction.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import type { EgressFetch, ToolSet } from "../contract/tools.ts";

/** Limits of a deployment the engine keeps (H-15). Times in milliseconds. */
export type EngineLimits = {
  readonly maxOutputTokens: number;
  readonly permissionTimeoutMs: number;
  readonly toolOutputMaxBytes: number;
  readonly toolTimeoutMs: number;
  /** Added to a tool's own limit before the engine gives the call up. */
  readonly toolGraceMs: number;
  readonly maxParallelTools: number;
  readonly maxRestarts: number;
};

/** Everything the engine uses of the world. Clock, timers and ids are arguments, so that a run can be replayed in a test. */
export type EngineDeps = {
  readonly sessionId: string;
  readonly provider: ModelProvider;
  readonly models: ModelCatalog;
  readonly tools: ToolSet;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly permission: PermissionPolicy;
  readonly sandbox: Sandbox;
  readonly env: Readonly<Record<string, string>>;
  readonly fetch: EgressFetch;
  /** Registered secrets of this run (S-5). */
  readonly redactor: Redactor;
  /** Secrets by their form (S-3). */
  readonly guard: SecretScanner;
  /** System prompt of a run, stable parts first. */
  system(config: RunConfig, facts: SessionFacts): ModelRequest["system"];
  /** Keep tool output over the cap in a file of the workspace (T-7); off where files do not outlive the run. */
  readonly spill: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  delay(ms: number, signal: AbortSignal): Promise<void>;
  readonly newId: NewId;
  readonly limits: EngineLimits;
  /** Discrete facts for operators: `tool_result_pairing_repaired`, `tool_timed_out` … Never throws. */
  observe(name: string, data: Readonly<Record<string, string | number | boolean>>): void;
};
