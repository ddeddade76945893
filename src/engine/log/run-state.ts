import type { ElicitationAnswer } from "../../contract/elicitation.ts";
import type { DecisionKind, EntryOf, RunConfig } from "../../contract/log.ts";
import type { ToolUseBlock } from "../../contract/messages.ts";
import type { ModelStop, Usage } from "../../contract/model.ts";
import type { PermissionMode } from "../../contract/permission.ts";

/** Where one tool call of the current turn stands. What exists in one phase only lives in that phase's arm. */
export type CallPhase =
  | { readonly phase: "new" }
  /** The classifier has looked at the call's question. */
  | { readonly phase: "classified"; readonly allow: boolean; readonly reason: string }
  | {
      readonly phase: "asked";
      readonly kind: DecisionKind;
      readonly decisionId: string;
      readonly deadline: number;
      /** What the person is shown; it is what runs when they agree. */
      readonly input: Readonly<Record<string, unknown>>;
    }
  | {
      readonly phase: "answered";
      readonly kind: DecisionKind;
      readonly by: EntryOf<"decision_settled">["by"];
      readonly allow: boolean;
      readonly reason: string;
      /** The input that was agreed to: as shown, or as the person changed it. */
      readonly input: Readonly<Record<string, unknown>>;
      readonly rewritten: boolean;
    }
  /** A sub-agent does the call's work. */
  | { readonly phase: "delegated"; readonly agentId: string }
  | {
      readonly phase: "started";
      readonly input: Readonly<Record<string, unknown>>;
      /** The call's newest question (D-3); it is the call's own, so an owner that is lost takes it along. */
      readonly asking?: { readonly decisionId: string; readonly answer: ElicitationAnswer | undefined };
    }
  | { readonly phase: "finished"; readonly result: EntryOf<"tool_finished"> };

export type Call = { readonly block: ToolUseBlock; readonly at: CallPhase };

export type Outcome = EntryOf<"run_ended">["outcome"];

/** A run as its entries tell it. Spend, turns and restarts are sums over the log, never counters of their own. */
export type RunState = {
  readonly config: RunConfig;
  /** The mode calls are judged by: the configured one, until a plan is approved. */
  readonly mode: PermissionMode;
  /** The current turn's number; 0 before the first. */
  readonly turn: number;
  /** The current turn's model call: not begun, begun (or broken off), or answered. */
  readonly call: "none" | "open" | "answered";
  readonly stop: ModelStop | "cancelled" | undefined;
  readonly stopDetail: string | undefined;
  readonly calls: readonly Call[];
  readonly turnEnded: boolean;
  /** Restarts of the current turn's model call. */
  readonly turnRestarts: number;
  /** Times the run was picked up again after its owner was lost, since its last whole turn. */
  readonly resumes: number;
  /** Compactions since the model last answered. */
  readonly compactions: number;
  readonly turnUsage: Usage;
  readonly turnCostNano: number;
  readonly usage: Usage;
  readonly costNano: number;
  readonly cancelled: string | undefined;
  readonly outcome: Outcome | undefined;
};

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
  };
}
