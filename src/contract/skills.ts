import { z } from "zod";

/** A named prompt that a sub-agent is given (K-1). */
export const Skill = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "a skill's name is 1 to 64 of A-Z a-z 0-9 _ -"),
  /** When to use it, for the model. */
  description: z.string().max(1_000),
  prompt: z.string().min(1).max(100_000),
  /** Tools its agent may call; absent: all. */
  tools: z.array(z.string()).optional(),
});
export type Skill = z.infer<typeof Skill>;
