import type { Tool } from "../contract/tools.ts";
import { createBashTool } from "./bash.ts";
import { createEditTool } from "./edit.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createReadTool } from "./read.ts";
import { createTodoWriteTool } from "./todo-write.ts";
import { createWebFetchTool } from "./web-fetch.ts";
import { createWriteTool } from "./write.ts";

export { toModelTool, toolDefinition } from "./definition.ts";
export { createToolSet } from "./tool-set.ts";

export type BuiltinToolOptions = {
  /** How long a shell command may take when the model does not say, milliseconds (X-1: 120,000). */
  readonly defaultTimeoutMs: number;
  /** The most that it may ask for, milliseconds (X-1: 600,000). */
  readonly maxTimeoutMs: number;
};

/** The tools every session has (K-1); those that need sub-agents, skills or memory are built where those are. */
export function createBuiltinTools(options: BuiltinToolOptions): Tool[] {
  return [
    createBashTool(options),
    createReadTool(),
    createWriteTool(),
    createEditTool(),
    createGlobTool(),
    createGrepTool(),
    createTodoWriteTool(),
    createWebFetchTool(),
  ];
}
