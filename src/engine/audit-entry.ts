import type { AuditEntry } from "../contract/audit.ts";
import type { Tool } from "../contract/tools.ts";
import type { Agent } from "./agent.ts";

/** What the audit says of one call (S-4). */
export function auditOf(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  outcome: AuditEntry["outcome"],
  reason: string,
  { deps, run }: Agent,
): AuditEntry {
  return {
    id: deps.newId("aud"),
    session_id: deps.sessionId,
    turn_number: run.turn,
    timestamp: new Date(deps.now()).toISOString(),
    tool_name: tool.name,
    operation: tool.metadata.auditOperation,
    resource: resourceOf(tool, input),
    actor_id: run.config.actor_id,
    outcome,
    reason,
    extra: run.config.metadata,
  };
}

/** The resource as the tool names it; a refused call's input may not even have the tool's shape. */
function resourceOf(tool: Tool, input: Readonly<Record<string, unknown>>): string {
  const parsed = tool.input.safeParse(input);
  return (parsed.success ? tool.resource(parsed.data) : JSON.stringify(input)).slice(0, 4096);
}
