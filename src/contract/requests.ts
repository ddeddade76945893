import { z } from "zod";
import { SessionId } from "./ids.ts";
import { ImageBlock } from "./messages.ts";
import { PermissionMode, PermissionRules } from "./permission.ts";
import { BundleKey } from "./prompt-parts.ts";

/** A header-safe, printable name; line breaks in it would travel into requests and logs. */
const ModelName = z
  .string()
  .min(1, "model must not be empty")
  .max(256, "model must be at most 256 characters")
  .regex(/^[^\u0000-\u0020\u007f]+$/, "model must not contain blanks or control characters");

const Metadata = z.record(z.string().max(64), z.string().max(1024)).refine((m) => Object.keys(m).length <= 32, {
  message: "metadata must have at most 32 entries",
});

/** Names become environment variables; those that steer a shell are not to be had. */
const Secrets = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, "secrets: a name must be 1 to 64 of A-Z a-z 0-9 _")
      .regex(/^(?!(PATH|HOME|IFS|ENV|BASH_ENV|SHELL|PWD|LD_.*)$)/, "secrets: this name is taken by the shell"),
    z.string().max(16_384),
  )
  .refine((secrets) => Object.keys(secrets).length <= 64, { message: "secrets must have at most 64 entries" });

/** Bodies of requests (H-2, H-3, H-6, H-7, decisions 14). `promptMax` counts Unicode code points. */
export function runRequest(promptMax: number) {
  return z.object({
    prompt: z
      .string({ error: (issue) => (issue.input === undefined ? "prompt is required" : "prompt must be a string") })
      .min(1, "prompt is required")
      .max(promptMax, `prompt must be at most ${promptMax} characters`),
    model: ModelName.optional(),
    provider: z.string().min(1).max(64).optional(),
    system_prompt: z.string().max(promptMax, `system_prompt must be at most ${promptMax} characters`).optional(),
    max_turns: z.number().int("max_turns must be an integer").min(1, "max_turns must be at least 1").optional(),
    stop_sequences: z.array(z.string().min(1).max(1024)).max(16).optional(),
    max_cost_usd: z.number().positive().optional(),
    thinking_budget: z.number().int().nonnegative().optional(),
    effort: z.enum(["low", "medium", "high"]).optional(),
    fast_mode: z.boolean().optional(),
    images: z
      .array(ImageBlock.omit({ type: true }))
      .max(20)
      .optional(),
    permission_mode: PermissionMode.optional(),
    bundle: BundleKey.optional(),
    permission_rules: PermissionRules.optional(),
    metadata: Metadata.optional(),
    secrets: Secrets.optional(),
    actor_id: z.string().max(256).optional(),
  });
}
export type RunRequest = z.infer<ReturnType<typeof runRequest>>;

export function messageRequest(promptMax: number) {
  return runRequest(promptMax).extend({ on_busy: z.enum(["reject", "queue"]).optional() });
}
export type MessageRequest = z.infer<ReturnType<typeof messageRequest>>;

export const CreateSessionRequest = z.object({ session_id: SessionId.optional() });
export type CreateSessionRequest = z.infer<typeof CreateSessionRequest>;

/** An answer to any question. `allow` says yes or no to all of them; an elicitation also takes `action` and `content`. */
export const PermissionReply = z
  .object({
    allow: z.boolean({ error: "allow must be true or false" }).optional(),
    /** Of an elicitation; in place of `allow`. */
    action: z.enum(["accept", "decline", "cancel"]).optional(),
    /** Of an elicitation that is accepted: values by field (D-3). */
    content: z
      .record(
        z.string().max(256),
        z.union([z.string().max(16_384), z.number(), z.boolean(), z.array(z.string().max(1_024)).max(256)], {
          error: "must be a string, a number, true, false or a list of strings",
        }),
      )
      .refine((content) => Object.keys(content).length <= 64, { message: "must have at most 64 fields" })
      .optional(),
    reason: z.string().max(4096).optional(),
    /** `session`: the same call is not asked about again in this session. */
    scope: z.enum(["once", "session"]).optional(),
    /** The input the tool is to run with instead; it must fit the tool's schema (D-1). */
    updated_input: z.record(z.string(), z.unknown()).optional(),
    /** The plan as the user changed it; only for a plan approval (D-2). */
    edited_plan: z.string().min(1).max(100_000).optional(),
  })
  .refine(({ allow, action }) => allow !== undefined || action !== undefined, {
    path: ["allow"],
    message: "allow is required",
  });
export type PermissionReply = z.infer<typeof PermissionReply>;

/** Which model compacts; what is absent is the deployment's. */
export const CompactRequest = z.object({ model: ModelName.optional(), provider: z.string().min(1).max(64).optional() });
export type CompactRequest = z.infer<typeof CompactRequest>;

export const CancelRequest = z.object({ reason: z.string().max(4096).optional() });
export type CancelRequest = z.infer<typeof CancelRequest>;
