import { z } from "zod";

/** One audited operation (S-4). Written before the operation it speaks of. */
export const AuditEntry = z.object({
  /** Unique; a sink that gets an id twice stores it once. */
  id: z.string(),
  session_id: z.string(),
  turn_number: z.number().int().nonnegative(),
  /** RFC 3339, UTC. */
  timestamp: z.string(),
  tool_name: z.string(),
  operation: z.enum(["read", "write", "edit", "execute", "invoke"]),
  resource: z.string(),
  actor_id: z.string(),
  outcome: z.enum(["allowed", "blocked", "error"]),
  reason: z.string(),
  extra: z.record(z.string(), z.string()),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** Where audit entries end up. `write` resolves when they are durable; ids seen before are ignored. */
export type AuditSink = { write(tenant: string, entries: readonly AuditEntry[]): Promise<void> };
