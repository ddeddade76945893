import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";

/** Runs wrangler in this terminal; resolves with its exit code. */
export function wrangler(args: readonly string[]): Promise<number> {
  const child = spawn("wrangler", args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** Runs wrangler with this text on its standard input, or none; gives what it printed. */
export function wranglerOutput(args: readonly string[], input = ""): { readonly code: number; readonly text: string } {
  const done = spawnSync("wrangler", args, { input, encoding: "utf8", stdio: ["pipe", "pipe", "inherit"] });
  return { code: done.status ?? 1, text: done.stdout };
}

/** A new ENCRYPTION_KEY: 32 random bytes in base64. */
export function newEncryptionKey(): string {
  return randomBytes(32).toString("base64");
}
