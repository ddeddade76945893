import { z } from "zod";

/** Where shell-style tools run (G-4). `e2b` is any service that speaks E2B's `envd`. */
export const SandboxBackend = z.enum(["virtual", "http", "cloudflare", "e2b"]);
export type SandboxBackend = z.infer<typeof SandboxBackend>;

/** Absolute path of a session's workspace, where its agent begins. */
export function workspaceRoot(backend: SandboxBackend): string {
  // A user of E2B's machines may write at home only.
  return backend === "e2b" ? "/home/user/workspace" : "/workspace";
}
