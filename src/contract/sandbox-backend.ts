import { z } from "zod";

/** Where shell-style tools run (G-4). `e2b` is any service that speaks E2B's `envd`. */
export const SandboxBackend = z.enum(["virtual", "http", "cloudflare", "e2b"]);
export type SandboxBackend = z.infer<typeof SandboxBackend>;

/** Absolute path of a session's workspace on every backend. */
export const WORKSPACE_ROOT = "/workspace";
