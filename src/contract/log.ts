import { z } from "zod";
import { DoneReason } from "./events.ts";
import { ToolFact } from "./facts.ts";
import { FailureCategory } from "./failure.ts";
import { ImageBlock, TextBlock, ThinkingBlock, ToolResultContent, ToolUseBlock } from "./messages.ts";
import { ModelStop, Usage } from "./model.ts";
import { PermissionMode } from "./permission.ts";

/** Version of the stored shape; a row of another version is refused, never guessed. */
export const LOG_VERSION = 1;

/** What a run was asked for; everything the next step needs stands here, nothing in memory alone. */
export const RunConfig = z.object({
  run_id: z.string(),
  provider: z.string(),
  model: z.string(),
  system_prompt: z.string().optional(),
  max_turns: z.number().int().positive(),
  max_tokens: z.number().int().positive().optional(),
  max_cost_usd: z.number().positive().optional(),
  stop_sequences: z.array(z.string()),
  thinking_budget: z.number().int().nonnegative().optional(),
  effort: z.enum(["low", "medium", "high"]).optional(),
  fast_mode: z.boolean().optional(),
  permission_mode: PermissionMode,
  actor_id: z.string(),
  metadata: z.record(z.string(), z.string()),
  /** The run brought a provider key or secrets of its own: it cannot go on without them. */
  own_credentials: z.boolean(),
  /** Somebody can answer a question; false for stateless runs (H-2). */
  interactive: z.boolean(),
});
export type RunConfig = z.infer<typeof RunConfig>;

/** A run as a session is asked to begin it. */
export const RunPlan = z.object({
  config: RunConfig,
  content: z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock])),
});
export type RunPlan = z.infer<typeof RunPlan>;

/** The session log, append only. State is a fold over it (`src/engine/log`). */
export const Entry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("run_started"), config: RunConfig }),
  z.object({ kind: z.literal("user"), content: z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock])) }),
  /** A model call begins; without an `assistant` after it the call broke off. */
  z.object({ kind: z.literal("turn_started"), turn: z.number().int().positive() }),
  /** The call broke off and will be made again: what it had shown is void (E-17). */
  z.object({ kind: z.literal("turn_restarted"), turn: z.number().int().positive(), reason: z.string() }),
  z.object({
    kind: z.literal("assistant"),
    turn: z.number().int().positive(),
    content: z.array(z.discriminatedUnion("type", [TextBlock, ThinkingBlock, ToolUseBlock])),
    stop: ModelStop,
    stop_detail: z.string().optional(),
    usage: Usage.nullable(),
    /** Nano-dollars at the price of the day of the call. */
    cost_nano: z.number().int().nonnegative(),
    /** The model is unknown: its price is the default one. */
    cost_estimated: z.boolean().optional(),
    provider: z.string(),
    model: z.string(),
  }),
  z.object({
    kind: z.literal("decision_asked"),
    decision_id: z.string(),
    decision_kind: z.enum(["permission", "checkpoint", "plan_approval", "elicitation"]),
    call_id: z.string(),
    tool_name: z.string(),
    input: z.record(z.string(), z.unknown()),
    message: z.string(),
    /** Milliseconds since the epoch. */
    deadline: z.number().int(),
  }),
  z.object({
    kind: z.literal("decision_settled"),
    decision_id: z.string(),
    call_id: z.string(),
    allow: z.boolean(),
    reason: z.string(),
    updated_input: z.record(z.string(), z.unknown()).optional(),
    by: z.enum(["user", "timeout", "cancel"]),
  }),
  /** The call is about to run with this input. No result after it = the outcome is unknown. */
  z.object({ kind: z.literal("tool_started"), call_id: z.string() }),
  z.object({
    kind: z.literal("tool_finished"),
    call_id: z.string(),
    content: ToolResultContent,
    is_error: z.boolean(),
    facts: z.array(ToolFact).optional(),
    /** The call never ran: denied, invalid, cancelled. */
    skipped: z.boolean().optional(),
    denied: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("turn_ended"), turn: z.number().int().positive() }),
  /** The run was picked up again after its owner was lost (eviction, crash, deploy); counted, so that no run restarts for ever. */
  z.object({ kind: z.literal("run_resumed") }),
  /** What stands before was copied from another session: history, but not this session's spend. */
  z.object({ kind: z.literal("forked"), from: z.string() }),
  z.object({ kind: z.literal("cancel"), reason: z.string() }),
  z.object({
    kind: z.literal("run_ended"),
    outcome: z.discriminatedUnion("type", [
      z.object({ type: z.literal("done"), stop_reason: DoneReason }),
      z.object({ type: z.literal("error"), category: FailureCategory, message: z.string(), retryable: z.boolean() }),
    ]),
  }),
]);
export type Entry = z.infer<typeof Entry>;
export type EntryOf<K extends Entry["kind"]> = Extract<Entry, { kind: K }>;
