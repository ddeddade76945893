import { z } from "zod";

export const TodoItem = z.object({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]),
});
export type TodoItem = z.infer<typeof TodoItem>;

/** What a tool leaves behind for later calls; stored in the log with its result and folded into `SessionFacts`. */
export const ToolFact = z.discriminatedUnion("kind", [
  /** The shell's working directory after a command. */
  z.object({ kind: z.literal("cwd"), path: z.string() }),
  /** The model has seen this content of the file (read-before-edit rule, K-2); `digest` is SHA-256 in hex. */
  z.object({ kind: z.literal("file_seen"), path: z.string(), digest: z.string() }),
  z.object({ kind: z.literal("todos"), items: z.array(TodoItem) }),
]);
export type ToolFact = z.infer<typeof ToolFact>;

/** A fold over all facts of a session; survives eviction because the log does. */
export type SessionFacts = {
  /** Absolute path of the shell's working directory. */
  readonly cwd: string;
  /** Real path → digest of the content last seen. */
  readonly filesSeen: ReadonlyMap<string, string>;
  readonly todos: readonly TodoItem[];
};
