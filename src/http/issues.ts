import type { z } from "zod";

/** A path element comes from the caller when it is a record's key: bound it and keep it printable. */
function printable(element: PropertyKey): string {
  return String(element)
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 64);
}

/** One message for a body that does not fit: names the field, never a value (H-10). The first issue is enough to act on. */
export function describeIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return "request body is invalid";
  const field = issue.path.map(printable).join(".");
  const reason = issue.message.replace(/^Invalid input: /, "");
  const name = String(issue.path[0] ?? "");
  // The contract's own texts name their field; they stay bare, as the API page spells them.
  if (field === "" || (name !== "" && reason.startsWith(`${name} `))) return reason;
  return `${field}: ${reason}`;
}
