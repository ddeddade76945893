import type { McpServer } from "../contract/mcp.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import type { InputCheck } from "./input-check.ts";
import type { ListedTool } from "./list-tools.ts";
import { toolName } from "./names.ts";

export type CallServer = (
  tool: ListedTool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
) => Promise<ToolOutcome>;

/**
 * A server's tools as the engine has tools. What the server says of itself only ever makes a call stricter: a call asks
 * unless the operator has listed the tool as reading only. spec: K-4 S-1
 */
export function serverTools(
  server: McpServer,
  listed: readonly ListedTool[],
  check: InputCheck,
  call: CallServer,
): Tool[] {
  const readOnly = new Set(server.read_only_tools);
  return listed.map((tool) => {
    const reads = readOnly.has(tool.name);
    return {
      name: toolName(server.name, tool.name),
      description: tool.description,
      input: check(tool.schema),
      inputSchema: tool.schema,
      metadata: {
        readOnly: reads,
        concurrencySafe: reads,
        destructive: !reads && tool.destructive,
        searchHint: `${server.name} ${tool.name}`,
        permissionClass: reads ? "readonly" : "generic",
        requiresCheckpoint: false,
        auditOperation: "invoke",
        recovery: "unknown",
      },
      resource: (input) => `${server.name}/${tool.name} ${JSON.stringify(input)}`,
      ...(server.timeout_seconds === undefined ? {} : { timeoutMs: () => (server.timeout_seconds ?? 0) * 1000 }),
      run: (input, context) => call(tool, input as Readonly<Record<string, unknown>>, context),
    };
  });
}
