import type { z } from "zod";

/** How the schema library's own texts begin; every other text is one of ours and says itself what is wrong. */
const LIBRARY_TEXT = /^(?:Invalid |Invalid$|Too small: |Too big: |Unrecognized keys?: )/;

/** What is wrong with one value, in plain words and without the value: "must be at least 1" (H-10, G-1). */
export function issueText(issue: z.core.$ZodIssue): string {
  if (!LIBRARY_TEXT.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "int") return "must be an integer";
      if (issue.message.endsWith("received undefined")) return "is required";
      return issue.message.replace(/^Invalid input: /, "");
    case "too_small":
      return sizeText(issue.origin, Number(issue.minimum), issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return sizeText(issue.origin, Number(issue.maximum), issue.inclusive === false ? "less than" : "at most");
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `there is no field ${issue.keys.slice(0, 1).map(printable).join()}`;
    case "invalid_key":
      return issue.issues[0] && !LIBRARY_TEXT.test(issue.issues[0].message)
        ? issue.issues[0].message
        : "this name is not allowed";
    case "invalid_format":
      return issue.format === "regex" ? "has a form that is not allowed" : `must be a valid ${issue.format}`;
    default:
      return "has a form that is not allowed";
  }
}

function sizeText(origin: string, bound: number, how: string): string {
  if (origin === "string" && how === "at least" && bound === 1) return "must not be empty";
  const unit = { string: " characters", array: " entries", set: " entries", map: " entries" }[origin];
  return `must ${unit === undefined ? "be" : "have"} ${how} ${bound}${unit ?? ""}`;
}

/** Where the value stands, as `field.inner.0`. A part may come from the caller: it is bounded and kept printable. */
export function issuePath(issue: z.core.$ZodIssue): string {
  return issue.path.map(printable).join(".");
}

function printable(part: PropertyKey): string {
  return String(part)
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 64);
}
