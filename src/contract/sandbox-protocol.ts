import { z } from "zod";
import type { FileError, FileStat } from "./sandbox.ts";

/**
 * The HTTP protocol between the engine and a machine that runs commands: `docs/sandbox-protocol.yaml` says it
 * for other implementers. Every call but `GET /v1/health` carries `authorization: Bearer <token>`.
 */

/** Where every sandbox has its workspace, as its commands see it. */
export const REMOTE_ROOT = "/workspace";
/** The other folder that lasts; anything else is the machine's and cannot be had over HTTP. */
export const REMOTE_TMP = "/tmp";

export const SandboxId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/);
export const ExecId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
/** at most ten minutes. */
export const MAX_EXEC_MS = 600_000;

/** Body of `POST /v1/sandbox`; an id that exists already is answered as it is. */
export const CreateSandbox = z.object({
  id: SandboxId.optional(),
  /** Bytes of all files together; never more than the server's own limit. */
  max_bytes: z.int().positive().optional(),
});
export type CreateSandbox = z.infer<typeof CreateSandbox>;

export const CreatedSandbox = z.object({
  id: SandboxId,
  root: z.string(),
  /** The workspace is new and empty. */
  created: z.boolean(),
});
export type CreatedSandbox = z.infer<typeof CreatedSandbox>;

const EnvName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/);
const noNul = (text: string) => !text.includes("\0");

/** Body of `POST /v1/sandbox/{id}/exec`. */
export const ExecBody = z.object({
  /** For `/bin/bash`. */
  command: z.string().refine(noNul, "has a null byte"),
  cwd: z.string().startsWith("/").max(4096).refine(noNul, "has a null byte"),
  env: z.record(EnvName, z.string().refine(noNul, "has a null byte")),
  timeout_ms: z.int().min(1).max(MAX_EXEC_MS),
  /** Without it standard input is empty. */
  stdin: z.string().optional(),
  /** Made by the caller, so that it can cancel before the first event arrives. */
  exec_id: ExecId,
});
export type ExecBody = z.infer<typeof ExecBody>;

/** Data of the SSE event `exit`; `stdout` and `stderr` carry bare base64. */
export const ExecExit = z.object({
  exit_code: z.int(),
  timed_out: z.boolean(),
  /** Where the shell ended; the root when that folder is gone. */
  cwd: z.string(),
});
export type ExecExit = z.infer<typeof ExecExit>;

/** Data of the SSE event `error`: the command could not be run, or nothing is known of its end. */
export const ExecError = z.object({ error: z.string(), code: z.string() });
export type ExecError = z.infer<typeof ExecError>;

/** Each code of the port with its HTTP status. */
export const FILE_ERROR_STATUS = {
  not_found: 404,
  is_directory: 409,
  not_directory: 409,
  exists: 409,
  not_empty: 409,
  permission: 403,
  loop: 409,
  no_space: 507,
  too_large: 413,
  invalid: 400,
  unavailable: 503,
} as const satisfies Record<FileError["code"], number>;

/** Refusals that are not about a file; `no_sandbox` tells the caller to create it again. */
export const CALL_ERROR_STATUS = { unauthorized: 401, no_sandbox: 404, no_route: 404, busy: 429 } as const;

/** Body of every answer that is not 2xx. */
export const ProtocolError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
export type ProtocolError = z.infer<typeof ProtocolError>;

export const WireStat = z.object({
  path: z.string(),
  kind: z.enum(["file", "directory", "symlink"]),
  size: z.number(),
  mode: z.int(),
  mtime_ms: z.number(),
});
export type WireStat = z.infer<typeof WireStat>;

/** Answer of `GET …/list` and `GET …/walk`. */
export const WireEntries = z.object({ entries: z.array(WireStat) });
/** Answer of `GET …/realpath`. */
export const WirePath = z.object({ path: z.string() });
/** Body of `POST …/mkdir`. */
export const MkdirBody = z.object({ path: z.string() });
/** Entries one `walk` gives at most. */
export const MAX_WALK_ENTRIES = 100_000;

/** The port's shape of an entry. */
export function fromWireStat(stat: WireStat): FileStat {
  const { path, kind, size, mode, mtime_ms } = stat;
  return { path, kind, size, mode, mtimeMs: mtime_ms };
}

/** The port's code for an error code off the wire; what it does not know is `unavailable`. */
export function toFileCode(code: string): FileError["code"] {
  return Object.hasOwn(FILE_ERROR_STATUS, code) ? (code as FileError["code"]) : "unavailable"; // a key of the table is a code
}
