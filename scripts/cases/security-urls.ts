import { checkHops, checkUrl } from "../../src/shared/egress.ts";
import { type Build, buildText, runEach, type SecurityFile, type SecurityReport } from "./security-shared.ts";

type UrlCase = {
  readonly id: string;
  readonly url?: string;
  readonly urlBuild?: Build;
  readonly host?: string | null;
  readonly hops?: readonly string[];
  readonly dns?: Readonly<Record<string, readonly string[]>>;
  readonly allowDomains?: readonly string[];
  readonly expect: string;
};

export function runUrlCases(file: SecurityFile<UrlCase>): Promise<SecurityReport> {
  return runEach(file.cases, async (testCase) => {
    const { dns } = testCase;
    const options = {
      allowDomains: testCase.allowDomains,
      resolve: dns === undefined ? undefined : async (name: string) => dns[name] ?? [],
    };
    const url = testCase.urlBuild ? buildText(testCase.urlBuild) : (testCase.url ?? "");
    const verdict = await checkHops(url, testCase.hops ?? [], options);
    if (verdict.verdict !== testCase.expect)
      return `${verdict.verdict}, expected ${testCase.expect}: ${verdict.reason}`;
    if (testCase.host === undefined) return undefined;
    const { host } = await checkUrl(url, options);
    return host === testCase.host ? undefined : `host ${host}, expected ${testCase.host}`;
  });
}
