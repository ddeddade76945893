import { z } from "zod";
import { AgentConfig } from "./agents.ts";
import { ElicitationAnswer, ElicitationQuestion } from "./elicitation.ts";
import { DoneReason } from "./events.ts";
import { ToolFact } from "./facts.ts";
import { FailureCategory } from "./failure.ts";
import { ImageBlock, TextBlock, ThinkingBlock, ToolResultContent, ToolUseBlock } from "./messages.ts";
import { ModelStop, Usage } from "./model.ts";
import { Grant, PermissionMode, PermissionRules } from "./permission.ts";
import { BundleKey, CachePrefix } from "./prompt-parts.ts";

/** Version of the stored shape; a row of another version is refused, never guessed. */
export const LOG_VERSION = 1;

/** What a run was asked for; everything the next step needs stands here, nothing in memory alone. */
export const RunConfig = z.object({
  run_id: z.string(),
  provider: z.string(),
  model: z.string(),
  system_prompt: z.string().optional(),
  /** Which prompt bundle the run uses (B-5). */
  bundle: BundleKey.optional(),
  /** Models its sub-agents may use; absent: any. */
  allowed_models: z.array(z.string()).optional(),
  max_turns: z.number().int().positive(),
  max_tokens: z.number().int().positive().optional(),
  max_cost_usd: z.number().positive().optional(),
  stop_sequences: z.array(z.string()),
  thinking_budget: z.number().int().nonnegative().optional(),
  effort: z.enum(["low", "medium", "high"]).optional(),
  fast_mode: z.boolean().optional(),
  permission_mode: PermissionMode,
  /** The mode once a plan is approved; absent: the mode stays. */
  mode_after_plan: PermissionMode.optional(),
  /** Rules of the tenant and the request, beside the deployment's. */
  rules: PermissionRules.optional(),
  /** The run is given up at this time, milliseconds since the epoch. */
  deadline: z.number().int().optional(),
  actor_id: z.string(),
  metadata: z.record(z.string(), z.string()),
  /** What the run is for: `compact` makes the context smaller and ends. */
  task: z.enum(["converse", "compact"]).optional(),
  /** The run of a sub-agent: whose it is and what it may do. */
  agent: AgentConfig.optional(),
  /** The run brought a provider key or secrets of its own: it cannot go on without them. */
  own_credentials: z.boolean(),
  /** Somebody can answer a question; false for stateless runs (H-2). */
  interactive: z.boolean(),
});
export type RunConfig = z.infer<typeof RunConfig>;

/** Everything a person is asked is one mechanism (D-5). */
export const DecisionKind = z.enum(["permission", "checkpoint", "plan_approval", "elicitation"]);
export type DecisionKind = z.infer<typeof DecisionKind>;

/** A run as a session is asked to begin it. */
export const RunPlan = z.object({
  config: RunConfig,
  content: z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock])),
});
export type RunPlan = z.infer<typeof RunPlan>;

/** An entry of one kind; `agent` names the sub-agent whose log it belongs to, absent: the session's own. */
function entry<K extends string, S extends z.ZodRawShape>(kind: K, shape: S) {
  return z.object({ kind: z.literal(kind), agent: z.string().optional(), ...shape });
}

/** The session log, append only. State is a fold over it (`src/engine/log`). */
export const Entry = z.discriminatedUnion("kind", [
  entry("run_started", { config: RunConfig }),
  entry("user", { content: z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock])) }),
  /** A model call begins; without an `assistant` after it the call broke off. */
  entry("turn_started", { turn: z.number().int().positive() }),
  /** The call broke off and will be made again: what it had shown is void (E-17). */
  entry("turn_restarted", { turn: z.number().int().positive(), reason: z.string() }),
  /** A model call broke off when the provider had begun to count: what it counted is paid for all the same. */
  entry("call_failed", {
    turn: z.number().int().positive(),
    usage: Usage,
    cost_nano: z.number().int().nonnegative(),
  }),
  entry("assistant", {
    turn: z.number().int().positive(),
    content: z.array(z.discriminatedUnion("type", [TextBlock, ThinkingBlock, ToolUseBlock])),
    /** `cancelled`: a person stopped the call, and this is what had been shown of it. */
    stop: z.enum([...ModelStop.options, "cancelled"]),
    stop_detail: z.string().optional(),
    usage: Usage.nullable(),
    /** Nano-dollars at the price of the day of the call. */
    cost_nano: z.number().int().nonnegative(),
    /** The model is unknown and its price is the default one, or the call was stopped before the provider had counted. */
    cost_estimated: z.boolean().optional(),
    provider: z.string(),
    model: z.string(),
  }),
  entry("decision_asked", {
    decision_id: z.string(),
    decision_kind: DecisionKind,
    call_id: z.string(),
    tool_name: z.string(),
    input: z.record(z.string(), z.unknown()),
    /** What the audit names the input by; absent in an elicitation. */
    resource: z.string().optional(),
    message: z.string(),
    /** Milliseconds since the epoch. */
    deadline: z.number().int(),
    /** What an answer for the whole session would allow. */
    grant: Grant.optional(),
    /** Of an elicitation: what a running call wants to know. */
    elicitation: ElicitationQuestion.optional(),
  }),
  entry("decision_settled", {
    decision_id: z.string(),
    call_id: z.string(),
    allow: z.boolean(),
    reason: z.string(),
    updated_input: z.record(z.string(), z.unknown()).optional(),
    by: z.enum(["user", "timeout", "cancel"]),
    /** Allowed for the rest of the session. */
    grant: Grant.optional(),
    /** A person's answer to an elicitation. */
    elicitation: ElicitationAnswer.optional(),
  }),
  /** The classifier looked at a question before it was asked (P-3). */
  entry("classified", {
    call_id: z.string(),
    decision: z.enum(["allow", "ask"]),
    reason: z.string(),
    thinking: z.string(),
    stage: z.enum(["model", "failed"]),
    usage: Usage.nullable(),
    cost_nano: z.number().int().nonnegative(),
    duration_ms: z.number().nonnegative(),
  }),
  /** The call is about to run; `input` where it is neither the model's nor what was agreed to. No result after it = the outcome is unknown. */
  entry("tool_started", { call_id: z.string(), input: z.record(z.string(), z.unknown()).optional() }),
  entry("tool_finished", {
    call_id: z.string(),
    content: ToolResultContent,
    is_error: z.boolean(),
    facts: z.array(ToolFact).optional(),
    /** The call never ran: denied, invalid, cancelled. */
    skipped: z.boolean().optional(),
    denied: z.boolean().optional(),
  }),
  /** The call's work is a sub-agent's: it finishes with what that one ends with. */
  entry("delegated", { call_id: z.string(), agent_id: z.string() }),
  /**
   * The agent's prompt changed: `texts` are the dynamic sections the session keeps under `tie`, `prefix` is what a
   * provider may have cached from here on.
   */
  entry("prompt_composed", {
    tie: z.string(),
    texts: z.record(z.string(), z.string()),
    prefix: CachePrefix,
  }),
  /** A message from another agent; the model sees it when its next turn begins. */
  entry("inbox", { from: z.string(), text: z.string() }),
  /**
   * The model sees less from here on; the log keeps everything. Counts are of the agent's messages: of those before
   * `summarized` only the summary is left, of those before `trimmed` the tool output is not.
   */
  entry("compacted", {
    summarized: z.number().int().nonnegative(),
    trimmed: z.number().int().nonnegative(),
    summary: z.string(),
    /** Why, and how it went: `threshold`, `overflow`, `request`; `failed` = cut without a summary. */
    cause: z.enum(["threshold", "overflow", "request"]),
    failed: z.boolean().optional(),
    tokens_before: z.number().int().nonnegative(),
    tokens_after: z.number().int().nonnegative(),
    usage: Usage.nullable(),
    cost_nano: z.number().int().nonnegative(),
  }),
  entry("turn_ended", { turn: z.number().int().positive() }),
  /** The run was picked up again after its owner was lost (eviction, crash, deploy); counted, so that no run restarts for ever. */
  entry("run_resumed", {}),
  /** What stands before was copied from another session: history, but not this session's spend. */
  entry("forked", { from: z.string() }),
  entry("cancel", { reason: z.string() }),
  entry("run_ended", {
    outcome: z.discriminatedUnion("type", [
      z.object({ type: z.literal("done"), stop_reason: DoneReason }),
      z.object({ type: z.literal("error"), category: FailureCategory, message: z.string(), retryable: z.boolean() }),
    ]),
  }),
]);
export type Entry = z.infer<typeof Entry>;
export type EntryOf<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;
