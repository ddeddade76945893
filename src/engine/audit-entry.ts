import type { AuditEntry } from "../contract/audit.ts";
import type { Redactor } from "../contract/redaction.ts";
import type { Tool } from "../contract/tools.ts";
import type { Agent } from "./agent.ts";

/** Characters of a resource; a command may be of any length. */
export const RESOURCE_CHARACTERS = 4096;

/** What the audit says of one call (S-4). `input` is what runs, or what was judged where nothing does. */
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
    resource: resourceOf(tool, input, deps.redactor),
    actor_id: run.config.actor_id,
    outcome,
    reason,
    extra: run.config.metadata,
  };
}

/**
 * The resource as the tool names it, without registered secrets; a refused call's input may not even have the tool's
 * shape. Cut after it was redacted: half a secret is not recognized.
 */
export function resourceOf(tool: Tool, input: Readonly<Record<string, unknown>>, redactor: Redactor): string {
  const parsed = tool.input.safeParse(input);
  const whole = parsed.success ? tool.resource(parsed.data) : JSON.stringify(input);
  return redactor.redact(whole).slice(0, RESOURCE_CHARACTERS);
}
