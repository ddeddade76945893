import { z } from "zod";

/** What a request brings along for its own run (G-3): lives in the run's memory, sealed at rest, wiped at the run's end. */
export const Credentials = z.object({
  key: z.string().optional(),
  base_url: z.string().optional(),
  /** Secrets by name: in the shell's environment, redacted everywhere else (S-5). */
  secrets: z.record(z.string(), z.string()).optional(),
});
export type Credentials = z.infer<typeof Credentials>;

/** Seals credentials for one run; `context` binds the sealed text to its tenant, session and run. */
export type Sealer = {
  seal(clear: string, context: string): Promise<string>;
  /** undefined: wrong key, wrong context, or a damaged text. */
  open(sealed: string, context: string): Promise<string | undefined>;
};
