import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { isHttpFile, runHttpFile } from "./cases/http.ts";
import { isProviderCase, runProviderCase } from "./cases/providers.ts";
import { runSecurityFile } from "./cases/security.ts";

/** What a runner says of one file: how many cases passed, and which did not, with the reason. */
type Report = {
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly why: string }[];
  readonly skipped: readonly { readonly id: string; readonly why: string }[];
};

/** A kind of case file, told by its shape. The first that fits runs it. */
type Runner = {
  readonly fits: (json: unknown) => boolean;
  readonly run: (file: string, json: unknown) => Promise<Report>;
};

const RUNNERS: readonly Runner[] = [
  { fits: isProviderCase, run: runProviderCase },
  { fits: isHttpFile, run: runHttpFile },
  {
    fits: (json) => typeof json === "object" && json !== null && Array.isArray((json as { cases?: unknown }).cases),
    run: runSecurityFile,
  },
];

async function runFile(file: string): Promise<Report> {
  const id = basename(file);
  try {
    const json: unknown = JSON.parse(await readFile(file, "utf8"));
    const runner = RUNNERS.find(({ fits }) => fits(json));
    return runner
      ? await runner.run(file, json)
      : { passed: 0, failed: [], skipped: [{ id, why: "no runner for its shape" }] };
  } catch (error) {
    return {
      passed: 0,
      failed: [{ id, why: error instanceof Error ? (error.stack ?? error.message) : String(error) }],
      skipped: [],
    };
  }
}

async function main(): Promise<number> {
  const dir = process.argv[2];
  if (dir === undefined) {
    console.error("usage: npm run cases -- DIR");
    return 2;
  }
  const files = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(".json")).sort();
  let [passed, failed, skipped] = [0, 0, 0];
  for (const name of files) {
    const report = await runFile(join(dir, name));
    passed += report.passed;
    failed += report.failed.length;
    skipped += report.skipped.length;
    for (const { id, why } of report.failed) console.log(`FAIL ${relative(dir, join(dir, name))} ${id}: ${why}`);
    for (const { id, why } of report.skipped) console.log(`skip ${relative(dir, join(dir, name))} ${id}: ${why}`);
  }
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  return failed > 0 || passed + skipped === 0 ? 1 : 0;
}

process.exitCode = await main();
