import type { FileAnswer } from "../../src/contract/sandbox.ts";
import { classifyPath, tidyPath } from "../../src/permission/path.ts";
import { type Build, buildText, runEach, type SecurityFile, type SecurityReport } from "./security-shared.ts";

type PathCase = {
  readonly id: string;
  readonly op: "read" | "write";
  readonly path?: string;
  readonly pathBuild?: Build;
  readonly cwd?: string;
  readonly symlinks?: Readonly<Record<string, string>>;
  readonly allowDirs?: readonly string[];
  readonly caseInsensitive?: boolean;
  readonly expect: string;
  readonly resolved?: string;
};

/** Links as a table: resolves the longest known prefix again and again, as a file system would. */
export function linkResolver(links: Readonly<Record<string, string>>): (path: string) => FileAnswer<string> {
  return (path) => {
    let pending = tidyPath(path).split("/").filter(Boolean);
    let current = "";
    let followed = 0;
    while (pending.length > 0) {
      const [segment = "", ...rest] = pending;
      pending = rest;
      if (segment === "..") {
        current = current.slice(0, Math.max(0, current.lastIndexOf("/")));
        continue;
      }
      if (segment === ".") continue;
      const target = Object.hasOwn(links, `${current}/${segment}`) ? links[`${current}/${segment}`] : undefined;
      if (target === undefined) {
        current = `${current}/${segment}`;
        continue;
      }
      followed += 1;
      if (followed > 40) return { ok: false, error: { code: "loop", message: `${path}: too many links` } };
      pending = [...target.split("/").filter(Boolean), ...pending];
      if (target.startsWith("/")) current = "";
    }
    return { ok: true, value: current === "" ? "/" : current };
  };
}

export function runPathCases(file: SecurityFile<PathCase>): Promise<SecurityReport> {
  const {
    workspace = "/workspace",
    cwd = "/workspace",
    home = "/home/user",
    caseInsensitive = false,
  } = file.context ?? {};
  return runEach(file.cases, async (testCase) => {
    const verdict = await classifyPath(
      {
        op: testCase.op,
        path: testCase.pathBuild ? buildText(testCase.pathBuild) : (testCase.path ?? ""),
        cwd: testCase.cwd ?? String(cwd),
        root: String(workspace),
        home: String(home),
        allowDirs: testCase.allowDirs,
        caseInsensitive: testCase.caseInsensitive ?? caseInsensitive === true,
      },
      linkResolver(testCase.symlinks ?? {}),
    );
    if (verdict.verdict !== testCase.expect)
      return `${verdict.verdict}, expected ${testCase.expect}: ${verdict.reason}`;
    if (testCase.resolved !== undefined && verdict.resolved !== testCase.resolved) {
      return `resolved to ${verdict.resolved}, expected ${testCase.resolved}`;
    }
    return undefined;
  });
}
