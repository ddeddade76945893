import { runBashCases } from "./security-bash.ts";
import { runPathCases } from "./security-paths.ts";
import { runRedactionCases } from "./security-redaction.ts";
import { runSecretCases } from "./security-secrets.ts";
import type { SecurityFile, SecurityReport } from "./security-shared.ts";
import { runUrlCases } from "./security-urls.ts";

// Each runner trusts the shape of its own file; a field that is missing fails the case that needs it.
// biome-ignore lint/suspicious/noExplicitAny: the case type differs per file and is known to the runner only.
type Runner = (file: SecurityFile<any>) => Promise<SecurityReport>;

const RUNNERS: readonly (readonly [RegExp, Runner])[] = [
  [/bash/, runBashCases],
  [/paths/, runPathCases],
  [/urls/, runUrlCases],
  [/redaction/, runRedactionCases],
  [/secrets/, runSecretCases],
];

/**
 * Runs one file of security cases, found by its name or by the ids of its cases. Cases without a runner are reported as
 * skipped, never as passed.
 */
export async function runSecurityFile(fileName: string, json: unknown): Promise<SecurityReport> {
  // The case files are ours; what matters is checked right here.
  const file = json as SecurityFile<{ readonly id: string }>;
  if (!Array.isArray(file?.cases)) throw new Error(`${fileName}: no "cases" list`);
  const key = `${fileName.split("/").at(-1)} ${file.cases[0]?.id ?? ""}`;
  const runner = RUNNERS.find(([name]) => name.test(key))?.[1];
  if (runner !== undefined) return runner(file);
  return { passed: 0, failed: [], skipped: file.cases.map(({ id }) => ({ id, why: `no runner for ${fileName}` })) };
}
