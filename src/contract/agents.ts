import { z } from "zod";

/** Depth of the deepest sub-agent; the session's own agent has depth 0. */
export const MAX_AGENT_DEPTH = 3;

/** What makes a run the run of a sub-agent; part of its stored configuration. */
export const AgentConfig = z.object({
  /** `sa-1`, `sa-2` … in the order they were started; a session never gives one twice. */
  id: z.string(),
  /** The agent that started it; absent: the session's own. */
  parent: z.string().optional(),
  /** The name teammates call it by. */
  name: z.string().optional(),
  depth: z.number().int().positive(),
  description: z.string(),
  /** Names of the tools it may call; absent: all. The model is told of all of them, so that the cached prefix holds. */
  tools: z.array(z.string()).optional(),
  /** Files may be written below this folder only. */
  write_dir: z.string().optional(),
  /** The one who started it goes on meanwhile and gets the result as a message. */
  background: z.boolean(),
  /** Works only while its parent waits for nothing else. */
  when_idle: z.boolean().optional(),
  /** Working directory it begins in. */
  cwd: z.string(),
  /** Milliseconds since the epoch. */
  started_at: z.number().int(),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

/** A sub-agent as a tool asks for it. */
export type AgentSpec = {
  readonly description: string;
  readonly prompt: string;
  readonly background: boolean;
  readonly name?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly writeDir?: string | undefined;
  readonly whenIdle?: boolean | undefined;
  readonly model?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxCostUsd?: number | undefined;
};

/** What a tool wants of other agents. A foreground agent's result becomes the call's. */
export type Delegation =
  | { readonly kind: "spawn"; readonly agents: readonly [AgentSpec, ...AgentSpec[]] }
  | { readonly kind: "message"; readonly to: string; readonly text: string };
