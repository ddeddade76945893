/** What a runner of one case file reports. */
export type SecurityReport = {
  passed: number;
  failed: { id: string; why: string }[];
  skipped: { id: string; why: string }[];
};

/** `[["text", times], …]` of the case files: each text repeated, all joined. */
export type Build = readonly (readonly [string, number])[];

export function buildText(build: Build): string {
  return build.map(([text, times]) => text.repeat(times)).join("");
}

export type SecurityFile<Case> = {
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cases: readonly Case[];
};

/** Runs each case; `check` answers with what is wrong, or undefined. A throw is a failure of that case only. */
export async function runEach<Case extends { readonly id: string }>(
  cases: readonly Case[],
  check: (testCase: Case) => Promise<string | undefined> | string | undefined,
): Promise<SecurityReport> {
  const report: SecurityReport = { passed: 0, failed: [], skipped: [] };
  for (const testCase of cases) {
    let why: string | undefined;
    try {
      why = await check(testCase);
    } catch (error) {
      why = `threw ${String(error)}`;
    }
    if (why === undefined) report.passed += 1;
    else report.failed.push({ id: testCase.id, why });
  }
  return report;
}
