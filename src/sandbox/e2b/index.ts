import { err, ok, type Result } from "../../contract/result.ts";
import type { Sandbox } from "../../contract/sandbox.ts";
import { createConnection } from "./connection.ts";
import { createControlPlane } from "./control-plane.ts";
import { runCommand, type Shell } from "./exec.ts";
import { createE2bFiles, type RunScript } from "./files.ts";
import type { Failure, SandboxFetch } from "./rpc.ts";

export type { SandboxFetch } from "./rpc.ts";

export type E2bOptions = {
  /** The control plane: `https://api.e2b.app`, or a server of one's own that speaks as it does. */
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Name or id of the template a sandbox starts from; `base` is the vendor's plain one. */
  readonly template: string;
  /** Where sandboxes answer, when the control plane names no domain: `e2b.app`. */
  readonly domain: string;
  /** One address for all sandboxes instead; they are told apart by header. */
  readonly sandboxUrl?: string | undefined;
  /** The sandbox of an earlier time, as `remember` was told; a new one is made when it is gone. */
  readonly sandboxId?: string | undefined;
  /** Is told the id of a new sandbox before it is used. */
  readonly remember: (id: string) => void | Promise<void>;
  readonly fetch: SandboxFetch;
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds the sandbox has for its answer after a command's deadline. */
  readonly graceMs: number;
  /** Seconds a sandbox lives after its last use, then it pauses; 900 when not given. */
  readonly lifeSeconds?: number;
  /** The sandbox's user; `user` when not given. */
  readonly user?: string;
  /** Absolute path of the workspace, made when missing; `/home/user/workspace` when not given. */
  readonly root?: string;
};

export type E2bSandbox = Sandbox & {
  /** Ends the sandbox and its files for good, when there is one; true when it is gone. */
  destroy(signal: AbortSignal): Promise<boolean>;
};

const LIFE_SECONDS = 900;
/** A script of ours reads names only. */
const SCRIPT_MS = 60_000;
/** What a script of ours may answer: 100,000 names of a walk. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;

/**
 * A workspace in a machine of E2B, or of a server that speaks its `envd` (Connect RPC on port 49983, files over HTTP). The
 * machine is made on first use and pauses after `lifeSeconds` without use, files included. Needs bash and GNU coreutils and
 * findutils in the template. Not proven against the real service. spec
 */
export function createE2bSandbox(options: E2bOptions): E2bSandbox {
  const { fetch, delay, graceMs, now } = options;
  const { root = "/home/user/workspace", user = "user", lifeSeconds = LIFE_SECONDS } = options;
  const plane = createControlPlane(options.apiUrl, options.apiKey, fetch);
  const connection = createConnection(plane, { ...options, root, user, lifeSeconds, now });
  const shell: Shell = { connection, fetch, root, user, graceMs, delay };
  return {
    backend: "e2b",
    root,
    files: createE2bFiles({ connection, fetch, user, delay, run: scripts(shell) }),
    exec: (request, signal) => runCommand(shell, request, signal),
    async destroy(signal) {
      const id = connection.id();
      return id === undefined || (await plane.remove(id, signal));
    },
  };
}

/** Our own scripts go the way of every command; their arguments come as one quoted line after the script. */
function scripts(shell: Shell): RunScript {
  return async (script, args) => {
    const command = `export LC_ALL=C; set -- ${args.map(quoted).join(" ")}; ${script}`;
    const request = { command, cwd: "/", env: {}, timeoutMs: SCRIPT_MS };
    const parts: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
    let size = 0;
    for await (const event of runCommand(shell, request, new AbortController().signal)) {
      if (event.type === "exit")
        return outcome(event.exitCode, event.timedOut, textOf(parts.stdout), textOf(parts.stderr));
      size += event.data.length;
      if (size > MAX_SCRIPT_BYTES) return err({ code: "too_large", message: "more names than are taken", gone: false });
      parts[event.type].push(event.data);
    }
    return err({ code: "unreachable", message: "the command had no end", gone: false });
  };
}

function outcome(
  exitCode: number,
  timedOut: boolean,
  stdout: string,
  stderr: string,
): Result<{ stdout: string; stderr: string; exitCode: number }, Failure> {
  if (timedOut || exitCode === 127) return err({ code: "unreachable", message: stderr.trim(), gone: false });
  return ok({ stdout, stderr, exitCode });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function textOf(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}
