import type { AuditEntry } from "../src/contract/audit.ts";
import type { EntryOf, RunConfig } from "../src/contract/log.ts";
import { RESOURCE_CHARACTERS } from "../src/engine/audit-entry.ts";
import { canonicalJson } from "../src/shared/canonical-json.ts";
import { sha256Hex } from "../src/shared/digest.ts";

/** SHA-256 of the canonical JSON of an input. Registered secrets are hidden in it as in everything stored. */
export function inputDigest(input: object): Promise<string> {
  return sha256Hex(canonicalJson(input));
}

export type Approval = {
  readonly id: string;
  readonly sessionId: string;
  readonly asked: EntryOf<"decision_asked">;
  readonly settled: Pick<EntryOf<"decision_settled">, "allow" | "reason">;
  /** Of the input that runs on a yes; of an elicitation: of the question. undefined: nobody answered. */
  readonly digest: string | undefined;
  /** What the tool names a rewritten input by. */
  readonly resource: string | undefined;
  readonly run: { readonly config: RunConfig; readonly turn: number } | undefined;
  readonly now: number;
};

/**
 * The end of a question in the audit, an entry of its own beside that of the act: who may have let something happen is
 * part of the chain (S-4, D-5). It speaks of the input that is to run, the rewritten one where there is one.
 */
export function approvalEntry({ id, sessionId, asked, settled, digest, resource, run, now }: Approval): AuditEntry {
  return {
    id,
    session_id: sessionId,
    turn_number: run?.turn ?? 0,
    timestamp: new Date(now).toISOString(),
    tool_name: asked.tool_name,
    operation: "decide",
    resource: (resource ?? shown(asked)).slice(0, RESOURCE_CHARACTERS),
    actor_id: run?.config.actor_id ?? "",
    outcome: settled.allow ? "allowed" : "blocked",
    reason: settled.reason,
    extra: {
      ...run?.config.metadata,
      decision_id: asked.decision_id,
      ...(asked.agent === undefined ? {} : { subagent_id: asked.agent }),
      ...(digest === undefined ? {} : { input_digest: digest }),
    },
  };
}

/** What the person was shown; questions of earlier versions do not have it as the tool names it. */
function shown({ elicitation, message, resource, input }: EntryOf<"decision_asked">): string {
  return elicitation ? `${elicitation.server} asks: ${message}` : (resource ?? canonicalJson(input));
}
