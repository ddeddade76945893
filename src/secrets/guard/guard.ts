import { isPlaceholder } from "./filters.ts";
import type { SecretMatch, SecretRule } from "./rule.ts";
import { BUILTIN_RULES } from "./rules.ts";

/** Finds secrets in text that is about to be stored (S-3). */
export type SecretGuard = {
  /** Every secret in `content`, in order; none when `path` is exempt. */
  scan(path: string, content: string): readonly SecretMatch[];
  /** The content with every secret replaced by `[SECRET:rule-id]`. */
  redact(content: string): string;
};

export type GuardOptions = {
  /** The deployment's own, beside the built-in ones (`parseSecretRules`). */
  readonly rules?: readonly SecretRule[] | undefined;
  /** A path is exempt when it starts with, or has below a folder, one of these texts; letter case counts. */
  readonly exemptPaths?: readonly string[] | undefined;
};

/** Scans nothing; must be chosen by hand. spec: S-3 */
export const NOOP_GUARD: SecretGuard = { scan: () => [], redact: (content) => content };

/**
 * A guard over a table of rules. Time is linear in the text for the built-in ones: a rule's expression runs only where one
 * of its keywords is present, and repeats nothing without a bound. spec: S-3
 */
export function createSecretGuard(options: GuardOptions = {}): SecretGuard {
  const rules = [...BUILTIN_RULES, ...(options.rules ?? [])];
  const exempt = options.exemptPaths ?? [];
  return {
    scan: (path, content) => (isExempt(path, exempt) ? [] : scanContent(content, rules)),
    redact: (content) => {
      let result = "";
      let end = 0;
      for (const match of scanContent(content, rules)) {
        if (match.end <= end) continue;
        if (match.start >= end) result += `${content.slice(end, match.start)}[SECRET:${match.rule}]`;
        end = match.end;
      }
      return result + content.slice(end);
    },
  };
}

function isExempt(path: string, exempt: readonly string[]): boolean {
  const normal = path
    .replaceAll("\\", "/")
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");
  return exempt.some((text) => text !== "" && `/${normal}`.includes(text.startsWith("/") ? text : `/${text}`));
}

function scanContent(content: string, rules: readonly SecretRule[]): SecretMatch[] {
  const lower = content.toLowerCase();
  const found: SecretMatch[] = [];
  const late: SecretMatch[] = [];
  for (const rule of rules) {
    if (rule.keywords.length > 0 && !rule.keywords.some((keyword) => lower.includes(keyword))) continue;
    collect(content, rule, rule.fallback === true ? late : found);
  }
  const covered = (match: SecretMatch) => found.some((other) => other.start < match.end && match.start < other.end);
  return [...found, ...late.filter((match) => !covered(match))].sort(
    (left, right) => left.start - right.start || right.end - left.end,
  );
}

function collect(content: string, rule: SecretRule, into: SecretMatch[]): void {
  // A copy, because the position of a shared global expression would be shared by all scans.
  const pattern = new RegExp(rule.pattern.source, rule.pattern.flags);
  for (let match = pattern.exec(content); match !== null; match = pattern.exec(content)) {
    if (match[0] === "") {
      pattern.lastIndex += 1;
      continue;
    }
    const secret = match.groups?.secret ?? match[0];
    const start = match.indices?.groups?.secret?.[0] ?? match.index;
    const around = content.slice(Math.max(0, match.index - 120), match.index + match[0].length + 120);
    const standsIn = rule.ownFilter !== true && isPlaceholder(secret);
    if (!standsIn && rule.accept?.(secret, match[0], around) !== false) {
      into.push({ rule: rule.id, start, end: start + secret.length });
    }
  }
}
