import { parseArgs } from "node:util";
import { z } from "zod";

/** Everything that can be set, with its default; a flag `--max-disk-bytes` is the variable `SANDBOX_MAX_DISK_BYTES`. */
const bytes = (fallback: number) => z.coerce.number().int().positive().default(fallback);
const flag = z
  .enum(["true", "false", "1", "0", ""])
  .default("false")
  .transform((text) => text === "true" || text === "1");
const MIB = 1024 * 1024;

export const Settings = z.object({
  /** Bearer token every caller must show; there is no server without one. */
  token: z.string({ error: "is required" }).min(16, "needs at least 16 characters"),
  host: z.string().default("127.0.0.1"),
  /** 0 takes a free one. */
  port: z.coerce.number().int().min(0).max(65_535).default(8788),
  /** Where workspaces are kept; survives a restart. */
  dir: z.string().default("/var/lib/flyto-sandbox"),
  /** Run without isolation where bubblewrap does not work. */
  unsafe: flag,
  allowNetwork: flag,
  /** Further folders commands may read, separated by `:`. */
  readOnly: z.string().default(""),
  /** All files of one sandbox. */
  maxDiskBytes: bytes(1024 * MIB),
  /** Files, folders and links of one sandbox. */
  maxDiskFiles: bytes(200_000),
  /** One file over HTTP, either way. */
  maxFileBytes: bytes(32 * MIB),
  /** Other request bodies: command, environment, standard input. */
  maxBodyBytes: bytes(16 * MIB),
  /** stdout and stderr of one command together. */
  maxOutputBytes: bytes(64 * MIB),
  /** One sandbox's commands together where a cgroup can be made, else each process's address space. */
  maxMemoryBytes: bytes(2048 * MIB),
  maxProcesses: bytes(256),
  /** Commands at the same time: of one sandbox, of all. */
  maxExecs: bytes(16),
  maxExecsTotal: bytes(128),
  maxSandboxes: bytes(1_000),
  /** A sandbox unused for so long is removed with its files. */
  idleSeconds: bytes(24 * 3600),
});
export type Settings = z.infer<typeof Settings>;

/** Settings from flags, then `SANDBOX_*` variables; a text that names what is wrong when they do not fit. */
export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Settings | string {
  const names = Object.keys(Settings.shape);
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const isFlag = (name: string) => name === "unsafe" || name === "allowNetwork";
  const given: Record<string, string> = {};
  try {
    const options = Object.fromEntries(
      names.map((name) => [kebab(name), { type: isFlag(name) ? ("boolean" as const) : ("string" as const) }]),
    );
    const { values } = parseArgs({ args: [...argv], options });
    for (const name of names) {
      const value = values[kebab(name)] ?? env[`SANDBOX_${kebab(name).replaceAll("-", "_").toUpperCase()}`];
      if (value !== undefined) given[name] = String(value);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const parsed = Settings.safeParse(given);
  if (parsed.success) return parsed.data;
  return parsed.error.issues
    .map((issue) => `SANDBOX_${kebab(String(issue.path[0])).replaceAll("-", "_").toUpperCase()} ${issue.message}`)
    .join("; ");
}
