import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createRemoteSandbox, type RemoteSandboxOptions } from "../../../../src/sandbox/remote/index.ts";

export const TOKEN = "a token for tests only";

/** Why these tests cannot run here; undefined where they can. Where bubblewrap is installed but broken they run, and fail. */
export const NO_BUBBLEWRAP =
  spawnSync("bwrap", ["--version"]).status === 0
    ? undefined
    : "bubblewrap is not installed (apt-get install bubblewrap)";
if (NO_BUBBLEWRAP) console.warn(`skipped: ${NO_BUBBLEWRAP}`);

export type ServerProcess = {
  readonly url: string;
  readonly dir: string;
  readonly port: number;
  /** As a crash would: nothing can be cleaned up. */
  kill(): Promise<void>;
  close(): Promise<void>;
};

/** The real server as a process of its own; `dir` and `port` to start one again where another was. */
export async function startSandboxServer(
  env: Readonly<Record<string, string>> = {},
  again?: { readonly dir: string; readonly port: number },
): Promise<ServerProcess> {
  const dir = again?.dir ?? (await mkdtemp(`${tmpdir()}/sandbox-server-`));
  const child = spawn(process.execPath, ["sandbox-server/main.ts"], {
    env: {
      PATH: process.env.PATH,
      SANDBOX_TOKEN: TOKEN,
      SANDBOX_DIR: dir,
      SANDBOX_PORT: `${again?.port ?? 0}`,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (data: Buffer) => {
      said += data.toString();
      const found = /http:\/\/[\d.:]+/.exec(said)?.[0];
      if (found) resolve(found);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  return {
    url,
    dir,
    port: Number(new URL(url).port),
    kill: () => end("SIGKILL"),
    close: async () => {
      await end("SIGTERM");
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A sandbox of that server, by default a new one. */
export function sandboxOf(url: string, options: Partial<RemoteSandboxOptions> = {}) {
  const sandboxId = options.sandboxId ?? `test-${crypto.randomUUID()}`;
  return createRemoteSandbox({ backend: "http", baseUrl: url, token: TOKEN, sandboxId, fetch, ...options });
}
