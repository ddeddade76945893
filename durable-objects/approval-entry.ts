import type { AuditEntry } from "../src/contract/audit.ts";
import type { EntryOf, RunConfig } from "../src/contract/log.ts";
import type { Tool } from "../src/contract/tools.ts";
import { canonicalJson } from "../src/shared/canonical-json.ts";
import { sha256Hex } from "../src/shared/digest.ts";

/**
 * SHA-256 of the canonical JSON of the input a person was shown, and which runs if they agree. Registered secrets are
 * hidden in it as in everything stored.
 */
export function inputDigest(input: Readonly<Record<string, unknown>>): Promise<string> {
  return sha256Hex(canonicalJson(input));
}

export type Approval = {
  readonly id: string;
  readonly sessionId: string;
  readonly asked: EntryOf<"decision_asked">;
  readonly settled: EntryOf<"decision_settled">;
  /** Of what the person was shown; undefined: nobody looked. */
  readonly digest: string | undefined;
  readonly tool: Tool | undefined;
  readonly run: { readonly config: RunConfig; readonly turn: number } | undefined;
  readonly now: number;
};

/** A person's answer in the audit: who may have let something happen is part of the chain (S-4). */
export function approvalEntry({ id, sessionId, asked, settled, digest, tool, run, now }: Approval): AuditEntry {
  const parsed = asked.elicitation ? undefined : tool?.input.safeParse(asked.input);
  const shown = asked.elicitation ? `${asked.elicitation.server} asks: ${asked.message}` : canonicalJson(asked.input);
  return {
    id,
    session_id: sessionId,
    turn_number: run?.turn ?? 0,
    timestamp: new Date(now).toISOString(),
    tool_name: asked.tool_name,
    operation: tool?.metadata.auditOperation ?? "invoke",
    resource: (parsed?.success ? (tool?.resource(parsed.data) ?? "") : shown).slice(0, 4096),
    actor_id: run?.config.actor_id ?? "",
    outcome: settled.allow ? "allowed" : "blocked",
    reason: settled.reason,
    extra: {
      ...run?.config.metadata,
      decision_id: settled.decision_id,
      ...(digest === undefined ? {} : { input_digest: digest }),
    },
  };
}
