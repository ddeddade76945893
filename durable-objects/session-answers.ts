import { newId } from "../src/compose/bindings.ts";
import type { Redactor } from "../src/contract/redaction.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import type { PermissionReply } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Tool } from "../src/contract/tools.ts";
import { resourceOf } from "../src/engine/audit-entry.ts";
import { approvalEntry, inputDigest } from "./approval-entry.ts";
import { readReply } from "./decision-answer.ts";
import type { SessionDriver } from "./session-driver.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { SessionStore } from "./session-store.ts";

export type AnswerPorts = {
  readonly store: SessionStore;
  readonly journal: SessionJournal;
  readonly driver: SessionDriver;
  /** Hides the secrets of the current run. */
  redactor(): Promise<Redactor>;
  tool(name: string): Promise<Tool | undefined>;
  /** How long a message may wait behind a run, milliseconds. */
  readonly queueMs: number;
};

const SAID = {
  allow: "allowed",
  deny: "denied",
  accept: "answered",
  decline: "declined",
  cancel: "cancelled",
} as const;

/** What ends a wait: a person's answer, or the time that has run out. One mechanism for every kind of question (D-5). */
export class SessionAnswers {
  readonly #ports: AnswerPorts;

  constructor(ports: AnswerPorts) {
    this.#ports = ports;
  }

  /** Answers an open question, once. */
  async answer(decisionId: string, reply: PermissionReply): Promise<Answer<void>> {
    const { store, journal, driver } = this.#ports;
    const redactor = await this.#ports.redactor();
    const { redact, redactJson } = redactor;
    const shown = store.openDecision(decisionId);
    // A question of a running call is over with the life of the object that ran it.
    if (shown?.elicitation) driver.ensure();
    const tool = shown && (await this.#ports.tool(shown.tool_name));
    const effect = shown && readReply(shown, reply, tool);
    const changed = effect?.ok ? effect.value.updatedInput : undefined;
    const rewritten = changed && redactJson({ ...changed });
    const digest = shown && (await inputDigest(rewritten ?? shown.elicitation ?? shown.input));
    // From here on nothing waits: of two answers at once one is first.
    const state = store.decisionState(decisionId);
    const unknown = refuse("not_found_error", `permission request ${decisionId} is unknown or has timed out`);
    if (state === undefined || state === "timeout" || state === "void") return unknown;
    if (state === "answered") return refuse("conflict_error", `permission request ${decisionId} was already answered`);
    this.expire();
    const open = store.openDecision(decisionId);
    if (!open || !effect) return unknown;
    if (!effect.ok) return effect;
    const { allow, elicitation, grant } = effect.value;
    const settled = {
      kind: "decision_settled" as const,
      ...(open.agent === undefined ? {} : { agent: open.agent }),
      decision_id: decisionId,
      call_id: open.call_id,
      allow,
      reason: redact(reply.reason ?? `${SAID[elicitation?.action ?? (allow ? "allow" : "deny")]} by the user`),
      ...(elicitation ? { elicitation: redactJson(elicitation) } : {}),
      ...(rewritten ? { updated_input: rewritten } : {}),
      ...(grant ? { grant } : {}),
      by: "user" as const,
    };
    const approval = {
      ...{ id: newId("aud"), sessionId: store.meta()?.sessionId ?? "", asked: open, settled, digest },
      resource: rewritten && tool && resourceOf(tool, rewritten, redactor),
      run: journal.tree.foldOf(open.agent)?.run,
      now: Date.now(),
    };
    driver.settle(open.runId, settled, [approvalEntry(approval)]);
    return ok(undefined);
  }

  /** Questions whose time is over are denied (T-4), messages that waited too long are given up. */
  expire(): void {
    const { store, journal, driver, queueMs } = this.#ports;
    const now = Date.now();
    for (const runId of store.dequeueOlder(now - queueMs)) {
      const error = "the message waited too long behind another run (QUEUE_TIMEOUT_SECONDS); send it again";
      const event = { type: "error", error, category: "timeout", retryable: true } as const;
      journal.commit(runId, { entries: [], events: [event], audit: [] });
    }
    for (const decision of store.openDecisions()) {
      if (decision.deadline > now) continue;
      const settled = {
        kind: "decision_settled" as const,
        ...(decision.agent === undefined ? {} : { agent: decision.agent }),
        decision_id: decision.decision_id,
        call_id: decision.call_id,
        allow: false,
        reason: `nobody answered the ${decision.elicitation ? "question" : "permission request"} in time`,
        by: "timeout" as const,
      };
      driver.settle(decision.runId, settled);
    }
  }
}
