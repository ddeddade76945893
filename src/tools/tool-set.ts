import type { Tool, ToolSet } from "../contract/tools.ts";

/** The tools of a deployment by name; two of one name are a mistake of the deployment and throw. */
export function createToolSet(tools: readonly Tool[]): ToolSet {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new Error(`two tools are named ${tool.name}`);
    byName.set(tool.name, tool);
  }
  const all = [...byName.values()];
  return { get: (name) => byName.get(name), list: () => all };
}
