import { z } from "zod";

const KeyPart = z
  .string()
  .toLowerCase()
  .regex(/^[a-z0-9_-]{1,64}$/, "must be 1 to 64 of a-z 0-9 _ -");

/** Which bundle a run uses (B-1): whose models it was written for, and for what kind of work. Upper case is lowered. */
export const BundleKey = z.object({ model_family: KeyPart, scenario: KeyPart });
export type BundleKey = z.infer<typeof BundleKey>;

/** A section as a provider's cache goes by it. */
export const PrefixSection = z.object({
  name: z.string(),
  kind: z.enum(["static", "dynamic", "volatile"]),
  digest: z.string(),
  /** Estimate. */
  tokens: z.number().int().nonnegative().optional(),
  /** Why the section may change each turn; of volatile ones. */
  reason: z.string().optional(),
});
export type PrefixSection = z.infer<typeof PrefixSection>;

/** What a provider's cache goes by, before the messages: a digest of the tools, then the system prompt. */
export const CachePrefix = z.object({ tools: z.string(), sections: z.array(PrefixSection) });
export type CachePrefix = z.infer<typeof CachePrefix>;
