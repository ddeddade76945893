import type { McpServer } from "../../../src/contract/mcp.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../../src/contract/tools.ts";
import { createMcp, createMemoryStore, type McpOptions } from "../../../src/mcp/index.ts";

export type Observed = { readonly name: string; readonly data: Readonly<Record<string, unknown>> };

/** The servers of a test as a session has them. */
export function lab(servers: readonly McpServer[], more: Partial<McpOptions> = {}) {
  const observed: Observed[] = [];
  let tag = 0;
  const store = createMemoryStore();
  const clock = { now: 1_000_000 };
  const mcp = createMcp({
    servers,
    send: (url, init) => fetch(url, init),
    store,
    now: () => clock.now,
    newTag: () => `t${++tag}`,
    observe: (name, data) => observed.push({ name, data }),
    ...more,
  });
  return { mcp, observed, store, clock };
}

/** Runs a tool by its name, as the engine would. */
export async function use(
  tools: readonly Tool[],
  name: string,
  input: Record<string, unknown> = {},
  more: Partial<ToolContext> = {},
): Promise<ToolOutcome> {
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new Error(`there is no tool ${name}; there are ${tools.map((each) => each.name).join(", ")}`);
  const context = { callId: "c", signal: new AbortController().signal, progress: () => undefined, ...more };
  // The rest of a context is the sandbox, which a tool of another machine never touches.
  return tool.run(input, context as ToolContext);
}
