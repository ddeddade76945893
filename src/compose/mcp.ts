import type { Tool } from "../contract/tools.ts";
import { createMcp, type Mcp, McpState, type McpStore } from "../mcp/index.ts";
import { toModelTool } from "../tools/definition.ts";
import { createToolSet } from "../tools/tool-set.ts";
import type { Deployment } from "./deployment.ts";
import { mcpServers } from "./mcp-servers.ts";
import { measureWith } from "./prompt-measure.ts";

/** The deployment's MCP servers as one session uses them (K-4); undefined: there are none. */
export function composeMcp({ env, config }: Pick<Deployment, "env" | "config">, store: McpStore): Mcp | undefined {
  const servers = mcpServers(env, config);
  if (servers.length === 0) return undefined;
  return createMcp({
    servers,
    // The operator has named these hosts, as he has those of model providers: they may be private.
    send: (url, init) => fetch(url, init),
    store,
    now: Date.now,
    newTag: () => crypto.randomUUID(),
    observe,
  });
}

function observe(name: string, data: Readonly<Record<string, string | number | boolean>>): void {
  console.log(JSON.stringify({ event: name, ...data }));
}

/** UTF-16 units; a row takes 2 MB, and a unit is at most three bytes. */
const MAX_STATE = 600_000;

/** State in an object's storage, so that a run goes on with the tools it began with when the object was unloaded. */
export function createObjectMcpStore(storage: DurableObjectStorage): McpStore {
  let known: McpState | undefined;
  return {
    load() {
      known ??= read(storage.kv.get<string>("mcp"));
      return known;
    },
    save(state) {
      known = state;
      const text = JSON.stringify(state);
      // Too long for a row: then only this life of the object knows it.
      if (text.length <= MAX_STATE) storage.kv.put("mcp", text);
      else storage.kv.delete("mcp");
    },
  };
}

function read(text: string | undefined): McpState | undefined {
  return text === undefined ? undefined : McpState.safeParse(JSON.parse(text)).data;
}

/** The deployment with the servers' tools after its own; one whose name is taken is left out. */
export function withMcpTools(deployment: Deployment, tools: readonly Tool[]): Deployment {
  const fitting: Tool[] = [];
  const taken = new Set(deployment.tools.list().map(({ name }) => name));
  for (const tool of tools) {
    if (taken.has(tool.name)) observe("mcp_tool_left_out", { tool: tool.name, reason: "the name is taken" });
    else fitting.push(tool);
    taken.add(tool.name);
  }
  if (fitting.length === 0) return deployment;
  const toolDefinitions = [...deployment.toolDefinitions, ...fitting.map(toModelTool)];
  return {
    ...deployment,
    tools: createToolSet([...deployment.tools.list(), ...fitting]),
    toolDefinitions,
    promptMeasure: measureWith(deployment.promptMeasure, toolDefinitions),
  };
}
