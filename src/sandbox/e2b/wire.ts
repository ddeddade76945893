import { z } from "zod";

/**
 * What envd and E2B's control plane answer, as far as it is used. Followed: `packages/envd/spec/process/process.proto`
 * and `…/filesystem/filesystem.proto` in github.com/e2b-dev/infra, in proto3's JSON form (zero values left out, bytes as
 * base64, 64-bit numbers as text, times as RFC 3339); e2b.dev/docs/api-reference/sandboxes for the control plane. Unknown
 * fields are dropped.
 */
export const ProcessEvent = z.object({
  event: z.object({
    start: z.object({ pid: z.number().int().nonnegative() }).optional(),
    data: z.object({ stdout: z.string().optional(), stderr: z.string().optional() }).optional(),
    end: z.object({ exitCode: z.number().int().default(0), status: z.string().default("") }).optional(),
    keepalive: z.object({}).optional(),
  }),
});
export type ProcessEvent = z.infer<typeof ProcessEvent>["event"];

export const EntryInfo = z.object({
  name: z.string().default(""),
  type: z.string().default("FILE_TYPE_UNSPECIFIED"),
  size: z.union([z.string().regex(/^\d+$/), z.number()]).default(0),
  mode: z.number().default(0),
  modifiedTime: z.string().optional(),
  /** Set for a link: its target with every link resolved, or the link itself when that failed. */
  symlinkTarget: z.string().optional(),
});
export type EntryInfo = z.infer<typeof EntryInfo>;

export const StatAnswer = z.object({ entry: EntryInfo });
export const ListAnswer = z.object({ entries: z.array(EntryInfo).default([]) });

/** An error of Connect, of envd's file routes and of the proxy before it; the code is a word or an HTTP status. */
export const WireError = z.object({
  code: z.union([z.string(), z.number()]).optional(),
  message: z.string().default(""),
});

/** The last envelope of a stream. */
export const EndOfStream = z.object({ error: WireError.optional() });

export const SandboxInfo = z.object({
  sandboxID: z.string().min(1),
  /** Missing on sandboxes that are not `secure`. */
  envdAccessToken: z.string().nullish(),
  /** Missing where the account uses the default domain. */
  domain: z.string().nullish(),
  /** Only when asked for one that exists. */
  state: z.string().optional(),
});
export type SandboxInfo = z.infer<typeof SandboxInfo>;
