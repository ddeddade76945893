import type { EntryOf } from "../src/contract/log.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import type { PermissionReply } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Tool } from "../src/contract/tools.ts";

type Input = Readonly<Record<string, unknown>>;

/** What a person's reply makes of a question, beyond yes or no. */
export type ReplyEffect = {
  readonly updatedInput: Input | undefined;
  readonly grant: EntryOf<"decision_asked">["grant"];
};

/** Checks a reply against the question it answers; a field that does not fit is refused and named (D-1, D-2). */
export function readReply(
  asked: EntryOf<"decision_asked">,
  reply: PermissionReply,
  tool: Tool | undefined,
): Answer<ReplyEffect> {
  const isPlan = asked.decision_kind === "plan_approval";
  if (reply.edited_plan !== undefined && !isPlan)
    return refuse("invalid_request_error", "edited_plan is for a plan approval only");
  if (reply.updated_input !== undefined && isPlan)
    return refuse("invalid_request_error", "updated_input is not for a plan approval; use edited_plan");
  if (reply.scope === "session" && !asked.grant)
    return refuse("invalid_request_error", "scope: session is for a permission request only");
  const changed = isPlan && reply.edited_plan !== undefined ? { plan: reply.edited_plan } : reply.updated_input;
  if (changed !== undefined) {
    const parsed = tool?.input.safeParse(changed);
    if (!parsed?.success) {
      const issue = parsed?.error.issues[0];
      const field = ["updated_input", ...(issue?.path ?? [])].map(String).join(".");
      return refuse("invalid_request_error", `${field}: ${issue?.message ?? "the tool is not there any more"}`);
    }
  }
  const granted = reply.allow && reply.scope === "session";
  return ok({ updatedInput: reply.allow ? changed : undefined, grant: granted ? asked.grant : undefined });
}
