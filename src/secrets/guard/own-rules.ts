import { z } from "zod";
import { err, ok, type Result } from "../../contract/result.ts";
import { compileBounded } from "../../shared/bounded-pattern.ts";
import type { SecretRule } from "./rule.ts";
import { BUILTIN_RULES } from "./rules.ts";

const MAX_RULES = 100;
const MAX_REGEX = 500;
/** Characters that a repeat without a bound covers: a run of a megabyte is else tried from each of its characters on. */
const MAX_REPEAT = 4_000;
/** Each printable ASCII character: some expressions match nothing, but only beside a letter, such as `\b`. */
const PRINTABLE = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index));

/** A rule as a deployment writes it. */
const OwnRule = z.strictObject({
  /** Stands in the text in place of what was found: `[SECRET:id]`. */
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "must be 1 to 64 of a-z, 0-9, - and _"),
  /** JavaScript syntax; a group named `secret` marks the part that is hidden, else all of it is. */
  regex: z.string().min(1).max(MAX_REGEX, `is longer than ${MAX_REGEX} characters`),
  /** Texts of which one must be present, in any case, before the expression is tried. */
  keywords: z.array(z.string().min(1).max(100)).min(1).max(20).optional(),
});
type OwnRule = z.infer<typeof OwnRule>;

/**
 * Reads the rules of a deployment (`SECRET_RULES`), a JSON list of `{id, regex, keywords?}`; blank text means none. What
 * they match counts always: the filters for placeholders are the built-in rules' own. The error is one sentence and names
 * the rule. An expression is refused when it matches the empty text, or may take exponential time; a repeat without a
 * bound gets one of 4,000. Two repeats that can share the same characters, as in `[a-z]*[a-z]*9`, are not refused and may
 * take minutes on a long run of them. spec: S-3
 */
export function parseSecretRules(json: string): Result<readonly SecretRule[], string> {
  if (json.trim() === "") return ok([]);
  const list = readJson(json);
  if (!Array.isArray(list)) return err("the secret rules are not a JSON list");
  if (list.length > MAX_RULES) return err(`there are more than ${MAX_RULES} secret rules`);
  const taken = new Set(BUILTIN_RULES.map((rule) => rule.id));
  const rules: SecretRule[] = [];
  for (const [index, entry] of list.entries()) {
    const parsed = OwnRule.safeParse(entry);
    if (!parsed.success) return err(`secret rule ${nameOf(entry, index)}: ${issueText(parsed.error)}`);
    const rule = compile(parsed.data);
    if (!rule.ok) return err(`secret rule ${nameOf(entry, index)}: ${rule.error}`);
    if (taken.has(rule.value.id)) return err(`secret rule ${nameOf(entry, index)}: the id is taken`);
    taken.add(rule.value.id);
    rules.push(rule.value);
  }
  return ok(rules);
}

function compile({ id, regex, keywords }: OwnRule): Result<SecretRule, string> {
  const checked = compileBounded(regex, "");
  if (!checked.ok) return checked;
  // Places of groups cost time, so they are asked for only where one is used.
  const pattern = new RegExp(boundRepeats(regex), regex.includes("(?<secret>") ? "gd" : "g");
  if (["", PRINTABLE].some((text) => [...text.matchAll(pattern)].some(([match]) => match === ""))) {
    return err("the pattern matches the empty text");
  }
  const lower = (keywords ?? []).map((keyword) => keyword.toLowerCase());
  return ok({ id, name: id, keywords: lower, pattern, ownFilter: true });
}

/** Gives each repeat of a valid expression a bound; classes and escapes stay as they are. */
function boundRepeats(regex: string): string {
  return regex.replace(/\\[\s\S]|\[(?:\\[\s\S]|[^\\\]])*\]|[*+]|\{(\d+),\}/g, (token: string, least?: string) => {
    if (least !== undefined) return `{${least},${Math.max(Number(least), MAX_REPEAT)}}`;
    return token === "*" || token === "+" ? `{${token === "*" ? 0 : 1},${MAX_REPEAT}}` : token;
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The id where there is one that can be shown, else the place in the list, counted from 1. */
function nameOf(entry: unknown, index: number): string {
  const id = typeof entry === "object" && entry !== null && "id" in entry ? entry.id : undefined;
  return typeof id === "string" && id !== "" ? JSON.stringify(id.slice(0, 64)) : String(index + 1);
}

function issueText(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.join(".") ?? "";
  return `${path === "" ? "" : `${path}: `}${issue?.message ?? "invalid"}`;
}
