import { createSecretGuard } from "../../src/secrets/guard/guard.ts";
import { runEach, type SecurityFile, type SecurityReport } from "./security-shared.ts";

type SecretCase = {
  readonly id: string;
  readonly path: string;
  readonly parts: readonly string[];
  readonly exemptPaths?: readonly string[];
  readonly expect: { readonly match: boolean; readonly rule?: string; readonly span?: readonly [number, number] };
};

export function runSecretCases(file: SecurityFile<SecretCase>): Promise<SecurityReport> {
  return runEach(file.cases, ({ path, parts, exemptPaths, expect }) => {
    const content = parts.join("");
    const guard = createSecretGuard({ exemptPaths });
    const matches = guard.scan(path, content);
    const named = matches.map((match) => `${match.rule} ${match.start}..${match.end}`).join(", ");
    if (!expect.match) return matches.length === 0 ? undefined : `false alarm: ${named}`;
    const own = matches.find((match) => match.rule === expect.rule);
    if (own === undefined) return `missed ${expect.rule}; found: ${named || "nothing"}`;
    if (matches.some((match) => match.start >= own.end || own.start >= match.end))
      return `further report apart from it: ${named}`;
    if (expect.span === undefined) return undefined;
    const [start, end] = expect.span;
    if (own.start > start || own.end < end) return `span ${own.start}..${own.end}, expected ${start}..${end}`;
    return guard.redact(content).includes(content.slice(start, end)) ? "still there after redaction" : undefined;
  });
}
