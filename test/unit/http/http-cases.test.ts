import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type HttpCase, runHttpCase } from "../../../scripts/cases/http-runner.ts";
import { nodeHarness } from "./support/node-server.ts";

const load = (url: URL) => (JSON.parse(readFileSync(url, "utf8")) as { cases: HttpCase[] }).cases;
const own = load(new URL("./fixtures/http-cases.json", import.meta.url));
const sharedUrl = new URL("../../../../shared/cases/security/http.json", import.meta.url);

// spec: H-9, H-10, H-11, H-12, H-13, H-14
describe.each([
  ["own", own],
  ["shared", existsSync(sharedUrl) ? load(sharedUrl) : []],
])("%s cases", (_name, cases) => {
  // What a scripted model must answer is run against the whole server, elsewhere.
  const here = cases.filter((testCase) => testCase.provider === undefined);
  test.skipIf(here.length === 0).each(here.map((testCase) => [testCase.id, testCase.why, testCase] as const))(
    "%s holds: %s",
    async (_id, _why, testCase) => {
      expect((await runHttpCase(testCase, nodeHarness)).failures).toEqual([]);
    },
    20_000,
  );
});

test("a case that is not kept is reported", async () => {
  const wrong: HttpCase = {
    id: "wrong",
    category: "self",
    why: "the runner sees a difference",
    request: { method: "GET", path: "/v1/tools", headers: {} },
    expect: { status: 404, errorType: "not_found_error", headers: { "x-none": "1" }, events: { done: 1 } },
  };
  expect((await runHttpCase(wrong, nodeHarness)).failures).toHaveLength(4);
});
