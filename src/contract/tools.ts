import type { z } from "zod";
import type { Delegation } from "./agents.ts";
import type { ElicitationAnswer, ElicitationQuestion } from "./elicitation.ts";
import type { SessionFacts, ToolFact } from "./facts.ts";
import type { ToolResultContent } from "./messages.ts";
import type { Result } from "./result.ts";
import type { Sandbox } from "./sandbox.ts";

/** How a call of the tool is judged (S-1). */
export type PermissionClass = "bash" | "file" | "webfetch" | "readonly" | "generic";

/** What the audit calls the operation (S-4). */
export type AuditOperation = "read" | "write" | "edit" | "execute" | "invoke";

/**
 * What happens to a call that was started and has no result when the run is picked up again: `rerun` it (only for
 * idempotent tools), or tell the model that the outcome is `unknown`. A sub-agent's call needs neither: its own log goes on.
 */
export type Recovery = "rerun" | "unknown";

/** Metadata every tool declares (K-1). */
export type ToolMetadata = {
  readonly readOnly: boolean;
  readonly concurrencySafe: boolean;
  readonly destructive: boolean;
  readonly searchHint: string;
  readonly permissionClass: PermissionClass;
  /** Why a call of the class `readonly` passes; absent: it only reads. */
  readonly passes?: string;
  readonly requiresCheckpoint: boolean;
  /** The call is a plan that a person must approve (D-2); its input has a `plan`. */
  readonly planApproval?: boolean;
  readonly auditOperation: AuditOperation;
  readonly recovery: Recovery;
};

/** Outgoing HTTP for tools; refuses what the egress policy refuses by throwing an `EgressRefused`-named Error. */
export type EgressFetch = (
  url: string,
  init: { readonly signal: AbortSignal; readonly headers?: Record<string, string> },
) => Promise<Response>;

/** What one call may use. Everything in it belongs to this call's session. */
export type ToolContext = {
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly sandbox: Sandbox;
  /** Facts of the session before this call: working directory, files seen, todos. */
  readonly facts: SessionFacts;
  /** Environment of shell commands (tenant secrets by name). */
  readonly env: Readonly<Record<string, string>>;
  readonly fetch: EgressFetch;
  /** Reports progress, 0..1; may be called often. */
  progress(fraction: number, detail: string): void;
  /**
   * Asks a person while the call runs (D-3); its time limit rests meanwhile. Absent where nobody can be asked. Never
   * throws: `cancel` when time runs out or `signal` takes the question back.
   */
  readonly elicit?: (question: ElicitationQuestion, signal: AbortSignal) => Promise<ElicitationAnswer>;
};

export type ToolOutcome = {
  readonly content: ToolResultContent;
  readonly isError: boolean;
  /** What later calls must know; stored with the result. */
  readonly facts?: readonly ToolFact[];
};

/**
 * A tool. `run` reports what went wrong as an outcome with `isError`; it throws only for an abort of the signal or a bug
 * (which the engine turns into an error result without details).
 */
export type Tool<I = unknown> = {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<I>;
  /** JSON Schema that models and clients are shown in place of the one made from `input`. */
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  readonly metadata: ToolMetadata;
  /** What the audit names: a path, a command, a URL. */
  resource(input: I): string;
  /** How long the call may take, milliseconds; the engine's default when absent. The engine adds a grace and cuts it off. */
  timeoutMs?(input: I): number;
  run(input: I, context: ToolContext): Promise<ToolOutcome>;
  /** Present: the call is for other agents, and the engine asks this instead of `run`. An error is the model's to read. */
  delegate?(input: I, context: DelegateContext): Promise<Result<Delegation, string>>;
};

/** What a delegating call may look at. */
export type DelegateContext = {
  readonly signal: AbortSignal;
  readonly sandbox: Sandbox;
  readonly facts: SessionFacts;
  /** Named agents of the session. */
  readonly teammates: readonly { readonly id: string; readonly name: string; readonly working: boolean }[];
};

/** The tools of a deployment, by name. */
export type ToolSet = {
  get(name: string): Tool | undefined;
  list(): readonly Tool[];
};
