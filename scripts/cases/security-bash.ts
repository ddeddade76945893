import { classifyCommand } from "../../src/permission/bash/classify.ts";
import { type Build, buildText, runEach, type SecurityFile, type SecurityReport } from "./security-shared.ts";

type BashCase = {
  readonly id: string;
  readonly command?: string;
  readonly commandBuild?: Build;
  readonly expect: "readonly" | "ask" | "deny";
};

/** A machine with two busy cores needs some room over the 100 ms of the promise. */
const MAX_MS = 100;

export function runBashCases(file: SecurityFile<BashCase>): Promise<SecurityReport> {
  const { workspace = "/workspace", cwd = "/workspace", home = "/home/user" } = file.context ?? {};
  const context = { workspace: String(workspace), cwd: String(cwd), home: String(home) };
  // The first call pays for compiling the tables.
  classifyCommand("ls", context);
  return runEach(file.cases, (testCase) => {
    const text = testCase.commandBuild ? buildText(testCase.commandBuild) : (testCase.command ?? "");
    const started = performance.now();
    const { verdict, risk, reason } = classifyCommand(text, context);
    const spent = performance.now() - started;
    if (spent > MAX_MS) return `took ${Math.round(spent)} ms`;
    if (verdict === "readonly")
      return testCase.expect === "readonly" ? undefined : `breach: ${verdict}, expected ${testCase.expect}`;
    if (testCase.expect === "readonly") return `false alarm: ${verdict}: ${reason}`;
    if (testCase.expect === "deny" && verdict !== "deny" && risk !== "high")
      return `rated ${verdict} ${risk}, expected deny: ${reason}`;
    return undefined;
  });
}
