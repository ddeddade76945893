import type { ElicitationAnswer, ElicitationQuestion } from "../src/contract/elicitation.ts";
import type { EntryOf } from "../src/contract/log.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import type { PermissionReply } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Tool } from "../src/contract/tools.ts";
import { checkContent } from "../src/session/elicitation.ts";

type Input = Readonly<Record<string, unknown>>;

/** What a person's reply makes of a question, beyond yes or no. */
export type ReplyEffect = {
  readonly allow: boolean;
  /** Of an elicitation. */
  readonly elicitation: ElicitationAnswer | undefined;
  /** As the tool will be given it. */
  readonly updatedInput: Input | undefined;
  readonly grant: EntryOf<"decision_asked">["grant"];
};

/** Checks a reply against the question it answers; a field that does not fit is refused and named (D-1, D-2). */
export function readReply(
  asked: EntryOf<"decision_asked">,
  reply: PermissionReply,
  tool: Tool | undefined,
): Answer<ReplyEffect> {
  if (asked.elicitation) return readElicitation(asked.elicitation, reply);
  const { allow } = reply;
  if (reply.action !== undefined || reply.content !== undefined)
    return refuse("invalid_request_error", "action and content are for an elicitation only");
  if (allow === undefined) return refuse("invalid_request_error", "allow is required");
  const isPlan = asked.decision_kind === "plan_approval";
  if (reply.edited_plan !== undefined && !isPlan)
    return refuse("invalid_request_error", "edited_plan is for a plan approval only");
  if (reply.updated_input !== undefined && isPlan)
    return refuse("invalid_request_error", "updated_input is not for a plan approval; use edited_plan");
  if (reply.scope === "session" && !asked.grant)
    return refuse("invalid_request_error", "scope: session is for a permission request only");
  const wanted = isPlan && reply.edited_plan !== undefined ? { plan: reply.edited_plan } : reply.updated_input;
  let changed: Input | undefined;
  if (wanted !== undefined) {
    const parsed = tool?.input.safeParse(wanted);
    if (!parsed?.success) {
      const issue = parsed?.error.issues[0];
      const field = ["updated_input", ...(issue?.path ?? [])].map(String).join(".");
      return refuse("invalid_request_error", `${field}: ${issue?.message ?? "the tool is not there any more"}`);
    }
    // Every tool's input is an object.
    changed = parsed.data as Input;
  }
  const granted = allow && reply.scope === "session";
  return ok({
    ...{ allow, elicitation: undefined },
    updatedInput: allow ? changed : undefined,
    grant: granted ? asked.grant : undefined,
  });
}

/** `allow` alone is an answer as well: yes with what `content` has, or no. */
function readElicitation({ fields }: ElicitationQuestion, reply: PermissionReply): Answer<ReplyEffect> {
  const { allow, content } = reply;
  const other = (["scope", "updated_input", "edited_plan"] as const).find((name) => reply[name] !== undefined);
  if (other) return refuse("invalid_request_error", `${other} is not for an elicitation`);
  const action = reply.action ?? (allow ? "accept" : "decline");
  const accepted = action === "accept";
  if (allow !== undefined && allow !== accepted)
    return refuse("invalid_request_error", "action: says something else than allow");
  if (!accepted && content !== undefined)
    return refuse("invalid_request_error", "content is for an elicitation that is accepted");
  const checked = accepted ? checkContent(fields, content ?? {}) : ok(undefined);
  if (!checked.ok) return refuse("invalid_request_error", checked.error);
  const elicitation = { action, ...(checked.value ? { content: { ...checked.value } } : {}) };
  return ok({ allow: accepted, elicitation, updatedInput: undefined, grant: undefined });
}
