import { z } from "zod";

/** A session's id: generated (`sess_` + 12 hex) or the caller's own (H-3). Safe as a path segment and as part of an object's name. */
export const SessionId = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,128}$/, "must be 1 to 128 of A-Z a-z 0-9 _ . -")
  .refine((id) => id !== "." && id !== "..", "must not be . or ..");
export type SessionId = z.infer<typeof SessionId>;

/** A tenant's id; part of object names, R2 prefixes and D1 rows. */
export const TenantId = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be 1 to 63 of a-z 0-9 _ -");
export type TenantId = z.infer<typeof TenantId>;

/** The tenant of a deployment that has no tenant rows. */
export const DEFAULT_TENANT: TenantId = "default";

/** Makes ids; injected, so that a replayed run gets the same ones. */
export type NewId = (prefix: "sess" | "run" | "perm" | "toolu" | "aud" | "req") => string;
