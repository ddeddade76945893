import type { FastCall } from "../contract/fast.ts";
import type { NewId } from "../contract/ids.ts";
import type { ModelCatalog, ModelProvider, ToolDefinition } from "../contract/model.ts";
import type { PermissionClassifier, PermissionPolicy } from "../contract/permission.ts";
import type { PromptPort } from "../contract/prompts.ts";
import type { Redactor, SecretScanner } from "../contract/redaction.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import type { EgressFetch, ToolSet } from "../contract/tools.ts";

/** Limits of a deployment the engine keeps (H-15). Times in milliseconds. */
export type EngineLimits = {
  readonly maxOutputTokens: number;
  readonly permissionTimeoutMs: number;
  /** The check of one call, its look-ups in the sandbox included; a slower one denies. */
  readonly permissionCheckMs: number;
  readonly toolOutputMaxBytes: number;
  readonly toolTimeoutMs: number;
  /** Added to a tool's own limit before the engine gives the call up. */
  readonly toolGraceMs: number;
  readonly maxParallelTools: number;
  /** Model calls open at once, all agents together. */
  readonly maxParallelModelCalls: number;
  /** Sub-agents a session may have at work at once. */
  readonly maxAgents: number;
  readonly maxRestarts: number;
  /** Share of the model's window at which the context is made smaller, 0..1. */
  readonly compactAt: number;
  /** One call of the fast role. */
  readonly fastCallMs: number;
};

/** Where a silent repair becomes a failure of the run (O-6). */
export type StrictMode = { readonly toolResultPairing: boolean; readonly compaction: boolean };

/** Everything the engine uses of the world. Clock, timers and ids are arguments, so that a run can be replayed in a test. */
export type EngineDeps = {
  readonly sessionId: string;
  readonly provider: ModelProvider;
  readonly models: ModelCatalog;
  /** The fast role for summaries and the classifier; absent: there is none, and both do without. */
  readonly fast?: { readonly provider: ModelProvider; readonly model: string } | undefined;
  readonly tools: ToolSet;
  readonly toolDefinitions: readonly ToolDefinition[];
  readonly permission: PermissionPolicy;
  /** The classifier over the fast role as this run may call it. */
  readonly classifier?: ((call: FastCall) => PermissionClassifier) | undefined;
  readonly sandbox: Sandbox;
  readonly env: Readonly<Record<string, string>>;
  readonly fetch: EgressFetch;
  /** Registered secrets of this run (S-5). */
  readonly redactor: Redactor;
  /** Secrets by their form (S-3). */
  readonly guard: SecretScanner;
  /** Makes system prompts (B-2). */
  readonly prompt: PromptPort;
  /** About how many tokens a model takes a text for (C-1). */
  estimateTokens(text: string): number;
  /** Keep tool output over the cap in a file of the workspace (T-7); off where files do not outlive the run. */
  readonly spill: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  delay(ms: number, signal: AbortSignal): Promise<void>;
  readonly newId: NewId;
  readonly limits: EngineLimits;
  readonly strict: StrictMode;
  /** Discrete facts for operators: `tool_result_pairing_repaired`, `tool_timed_out` … Never throws. */
  observe(name: string, data: Readonly<Record<string, string | number | boolean>>): void;
};
