import type { z } from "zod";
import { issuePath, issueText } from "../contract/issue-text.ts";

/** One message for a body that does not fit: names the field, never a value (H-10). The first issue is enough to act on. */
export function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return "request body is invalid";
  const field = issuePath(issue);
  const name = String(issue.path[0] ?? "");
  // A text of ours may name its field already: as the API page spells it, then it stays bare; or before a colon.
  const text = issueText(issue);
  if (field === "" || (name !== "" && text.startsWith(`${name} `))) return text;
  return `${field}: ${text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text}`;
}
