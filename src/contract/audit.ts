import { z } from "zod";
import { SessionId } from "./ids.ts";
import type { Answer } from "./refusal.ts";
import type { Page } from "./sessions.ts";

export const AuditOutcome = z.enum(["allowed", "blocked", "error"]);

/** What a tool does, or `decide`: a question put to a person came to its end, answered or not (D-5). */
export const EntryOperation = z.enum(["read", "write", "edit", "execute", "invoke", "decide"]);

/** One audited operation (S-4). Written before the operation it speaks of. */
export const AuditEntry = z.object({
  /** Unique; a sink that gets an id twice stores it once. */
  id: z.string(),
  session_id: z.string(),
  turn_number: z.number().int().nonnegative(),
  /** RFC 3339, UTC. */
  timestamp: z.string(),
  tool_name: z.string(),
  operation: EntryOperation,
  /** What the tool acts on, as it names it itself: of the input that runs, or that was judged. */
  resource: z.string(),
  actor_id: z.string(),
  outcome: AuditOutcome,
  reason: z.string(),
  extra: z.record(z.string(), z.string()),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/**
 * An entry's place in the chain of its session. Digests name how they were made: `hmac-sha256:…` under a key derived from
 * ENCRYPTION_KEY, or `sha256:…` without one, which shows damage but not a forger who makes the whole chain anew.
 */
export const ChainLink = z.object({
  /** One life of the session's id; a session made anew under it begins a new chain. */
  incarnation: z.string(),
  /** From 1 on, without gaps. */
  seq: z.number().int().positive(),
  /** The digest of the entry before; "" for the first. */
  prev: z.string(),
  digest: z.string(),
});
export type ChainLink = z.infer<typeof ChainLink>;

export type ChainedEntry = AuditEntry & ChainLink;
/** As the API shows it; entries of stateless runs stand in no chain. */
export type AuditRecord = AuditEntry & { readonly [K in keyof ChainLink]: ChainLink[K] | null };

/** Where a chain ends. `digest` is a seal over the last entry's digest: only the key's holder can move the end. */
export type ChainHead = {
  readonly session_id: string;
  readonly incarnation: string;
  readonly seq: number;
  readonly digest: string;
};

/**
 * Where audit entries end up. `write` resolves when they and the chain's new head are durable, both or neither; ids seen
 * before are ignored, and a head never moves back.
 */
export type AuditSink = {
  write(tenant: string, entries: readonly (AuditEntry | ChainedEntry)[], head?: ChainHead): Promise<void>;
};

const Time = z.iso
  .datetime({ offset: true, error: "must be a time such as 2026-01-31T12:00:00Z" })
  .transform((text) => new Date(text).toISOString());

/** Which entries are asked for; each condition narrows. */
export const AuditFilter = z.object({
  session_id: SessionId.optional(),
  tool: z.string().min(1, "must not be empty").max(128, "must be at most 128 characters").optional(),
  operation: EntryOperation.optional(),
  outcome: AuditOutcome.optional(),
  /** Not before. */
  from: Time.optional(),
  /** Before. */
  to: Time.optional(),
});
export type AuditFilter = z.infer<typeof AuditFilter>;
export type AuditQuery = AuditFilter & { readonly limit: number; readonly cursor: string | undefined };

export type ChainVerdict =
  | { readonly valid: true; readonly entries: number }
  /** `broken_at`: the first position whose entry is missing, changed or not there to be. */
  | { readonly valid: false; readonly broken_at: number; readonly reason: string };

/** Reads the audit of one tenant; what another tenant has is not there. */
export type AuditLog = {
  /** Newest first. */
  query(tenant: string, query: AuditQuery): Promise<Answer<Page<AuditRecord>>>;
  /** Checks every chain of the session id, those of its deleted lives included. */
  verify(tenant: string, sessionId: string): Promise<Answer<ChainVerdict>>;
};
