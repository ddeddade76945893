import { z } from "zod";
import { ElicitationField } from "./elicitation.ts";
import { FailureCategory } from "./failure.ts";

/**
 * Events of a run as they stand in the SSE stream and in the event table (E-1 … E-17). `type` is the SSE event name and
 * is not repeated in the data. Emitted events are not parsed on the hot path; tests parse every one.
 */
const tokens = z.number().int().nonnegative();
export const DoneReason = z.enum([
  "end_turn",
  "stop_sequence",
  "max_turns",
  "max_tokens",
  "refusal",
  "cancelled",
  "budget",
]);
export type DoneReason = z.infer<typeof DoneReason>;

const Input = z.record(z.string(), z.unknown());

export const EngineEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text_delta"), text: z.string() }),
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("thinking_delta"), text: z.string() }),
  z.object({ type: z.literal("thinking"), text: z.string() }),
  z.object({ type: z.literal("tool_use"), id: z.string(), tool_name: z.string(), input: Input }),
  z.object({
    type: z.literal("tool_result"),
    id: z.string(),
    tool_name: z.string(),
    output: z.string(),
    is_error: z.boolean(),
  }),
  z.object({
    type: z.literal("tool_progress"),
    id: z.string(),
    tool_name: z.string(),
    progress: z.number().min(0).max(1),
    detail: z.string(),
  }),
  z.object({
    type: z.literal("permission_request"),
    id: z.string(),
    tool_name: z.string(),
    input: Input,
    message: z.string(),
    tool_call_id: z.string(),
    /** RFC 3339; after it the request is denied by itself. */
    expires_at: z.string(),
    /** The sub-agent that asks; absent: the session's own agent. */
    subagent_id: z.string().optional(),
  }),
  z.object({
    type: z.literal("checkpoint"),
    id: z.string(),
    tool_call_id: z.string(),
    tool_name: z.string(),
    input: Input,
    message: z.string(),
    expires_at: z.string(),
    /** The sub-agent that asks; absent: the session's own agent. */
    subagent_id: z.string().optional(),
  }),
  z.object({
    type: z.literal("plan_approval"),
    id: z.string(),
    plan: z.string(),
    tool_call_id: z.string(),
    expires_at: z.string(),
    /** The sub-agent that asks; absent: the session's own agent. */
    subagent_id: z.string().optional(),
  }),
  /** A running call of an MCP server asks a person for values (D-3). */
  z.object({
    type: z.literal("elicitation"),
    id: z.string(),
    server: z.string(),
    message: z.string(),
    fields: z.array(ElicitationField),
    tool_call_id: z.string(),
    /** RFC 3339; after it the question is cancelled by itself. */
    expires_at: z.string(),
    /** The sub-agent that asks; absent: the session's own agent. */
    subagent_id: z.string().optional(),
  }),
  /** A call that cannot be undone is about to run and nobody was asked: a good moment to fork the session. */
  z.object({
    type: z.literal("checkpoint_suggested"),
    tool_call_id: z.string(),
    tool_name: z.string(),
    message: z.string(),
  }),
  z.object({ type: z.literal("turn_start"), turn_number: z.number().int().positive(), model: z.string() }),
  z.object({
    type: z.literal("turn_end"),
    turn_number: z.number().int().positive(),
    input_tokens: tokens,
    output_tokens: tokens,
    cache_read_tokens: tokens,
    cache_write_tokens: tokens,
    cost_usd: z.number(),
  }),
  z.object({ type: z.literal("turn_restart"), turn_number: z.number().int().positive(), reason: z.string() }),
  z.object({
    type: z.literal("done"),
    total_input_tokens: tokens,
    total_output_tokens: tokens,
    total_tokens: tokens,
    cache_read_tokens: tokens,
    cache_write_tokens: tokens,
    cost_usd: z.number(),
    turn_count: z.number().int().nonnegative(),
    stop_reason: DoneReason,
  }),
  z.object({
    type: z.literal("error"),
    error: z.string(),
    category: FailureCategory,
    retryable: z.boolean(),
    hint: z.string().optional(),
  }),
  z.object({
    type: z.literal("subagent_start"),
    subagent_id: z.string(),
    /** The agent that started it; absent: the session's own. */
    parent_id: z.string().optional(),
    description: z.string().optional(),
    cwd: z.string().optional(),
    model: z.string().optional(),
    start_time_ms: z.number().int(),
  }),
  /** An event of a sub-agent, its own fields flat beside these (E-14). */
  z.looseObject({ type: z.literal("subagent_event"), subagent_id: z.string(), event_type: z.string() }),
  z.object({
    type: z.literal("subagent_end"),
    subagent_id: z.string(),
    duration_ms: z.number().nonnegative(),
    status: z.enum(["completed", "failed", "cancelled"]),
    result: z.string().optional(),
    error: z.string().optional(),
  }),
  /** An agent is shown a message that came in while it worked. */
  z.object({
    type: z.literal("inbox_message"),
    from: z.string(),
    text: z.string(),
    subagent_id: z.string().optional(),
  }),
  /** One agent writes to another. */
  z.object({ type: z.literal("teammate_message"), from: z.string(), to: z.string(), text: z.string() }),
  z.object({
    type: z.literal("context_compacted"),
    tokens_before: tokens,
    tokens_after: tokens,
    cause: z.enum(["threshold", "overflow", "request"]),
  }),
  z.object({ type: z.literal("queued"), position: z.number().int().positive() }),
  z.object({ type: z.literal("reset"), snapshot: z.record(z.string(), z.unknown()) }),
]);
export type EngineEvent = z.infer<typeof EngineEvent>;
export type EventType = EngineEvent["type"];

export type SubagentEvent = Extract<EngineEvent, { type: "subagent_event" }>;

/** Deltas and progress: shown at once, stored coalesced. All other events are stored before they are shown. */
export type LiveEvent =
  | Extract<EngineEvent, { type: "text_delta" | "thinking_delta" | "tool_progress" }>
  | SubagentEvent;

/** The stream of text a delta belongs to, and its piece of it; undefined for events that are no deltas. */
export function deltaOf(event: EngineEvent): { readonly stream: string; readonly text: string } | undefined {
  if (event.type === "text_delta" || event.type === "thinking_delta") return { stream: event.type, text: event.text };
  if (event.type !== "subagent_event" || typeof event.text !== "string") return undefined;
  if (event.event_type !== "text_delta" && event.event_type !== "thinking_delta") return undefined;
  return { stream: `${event.subagent_id} ${event.event_type}`, text: event.text };
}

/** The same delta with another text. */
export function withText(event: LiveEvent, text: string): LiveEvent {
  return event.type === "tool_progress" ? event : { ...event, text };
}

/** An event that ends a run's stream; every run has exactly one (E-12). */
export function isTerminal(event: { readonly type: string }): boolean {
  return event.type === "done" || event.type === "error";
}
