import { parseArgs } from "node:util";
import { z } from "zod";

const WHOLE = { error: "must be a whole number above 0" };
const bytes = (fallback: number) => z.coerce.number(WHOLE).int(WHOLE).positive(WHOLE).default(fallback);
const flag = z
  .enum(["true", "false", "1", "0", ""], { error: "must be true or false" })
  .default("false")
  .transform((text) => text === "true" || text === "1");
const MIB = 1024 * 1024;
const PORT = { error: "must be a whole number from 0 to 65535" };

/** Everything that can be set, with its default; a flag `--max-disk-bytes` is the variable `SANDBOX_MAX_DISK_BYTES`. */
export const Settings = z.object({
  token: z
    .string({ error: "is required" })
    .min(16, "needs at least 16 characters")
    .describe("bearer token that every caller must show; required, at least 16 characters"),
  host: z.string().default("127.0.0.1").describe("address to listen on"),
  port: z.coerce.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT).default(8788).describe("0 takes a free one"),
  dir: z.string().default("/var/lib/flyto-sandbox").describe("where workspaces are kept; they survive a restart"),
  unsafe: flag.describe("run without isolation where bubblewrap does not work"),
  allowNetwork: flag.describe("let commands reach the network"),
  readOnly: z.string().default("").describe("further folders commands may read, separated by `:`"),
  maxDiskBytes: bytes(1024 * MIB).describe("all files of one sandbox"),
  maxDiskFiles: bytes(200_000).describe("files, folders and links of one sandbox"),
  maxFileBytes: bytes(32 * MIB).describe("one file over HTTP, either way"),
  maxBodyBytes: bytes(16 * MIB).describe("other request bodies: command, environment, standard input"),
  maxOutputBytes: bytes(64 * MIB).describe("stdout and stderr of one command together"),
  maxMemoryBytes: bytes(2048 * MIB).describe("one sandbox's commands where a cgroup can be made, else each process"),
  maxProcesses: bytes(256).describe("processes of one sandbox"),
  maxExecs: bytes(16).describe("commands at the same time of one sandbox"),
  maxExecsTotal: bytes(128).describe("commands at the same time of all sandboxes"),
  maxSandboxes: bytes(1_000).describe("sandboxes at the same time"),
  idleSeconds: bytes(24 * 3600).describe("a sandbox unused for so long is removed with its files"),
});
export type Settings = z.infer<typeof Settings>;

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const isFlag = (name: string) => name === "unsafe" || name === "allowNetwork";

/** Every option with its default, for `--help`. */
export function helpText(): string {
  const lines = Object.entries(Settings.shape).map(([name, schema]) => {
    const fallback = schema.safeParse(undefined).data;
    const shown = isFlag(name) || fallback === undefined || fallback === "" ? "" : ` (${fallback})`;
    return `  ${`--${kebab(name)}${isFlag(name) ? "" : " …"}`.padEnd(24)}${schema.description}${shown}`;
  });
  return `usage: npm run sandbox -- [options]
Runs the commands of sessions on this machine. Each option is also a variable, --max-disk-bytes as SANDBOX_MAX_DISK_BYTES.

${lines.join("\n")}
  ${"--help".padEnd(24)}prints this`;
}

/** Settings from flags, then `SANDBOX_*` variables; a text that names what is wrong when they do not fit. */
export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Settings | string {
  const names = Object.keys(Settings.shape);
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
