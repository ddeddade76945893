import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { HttpCases } from "../../scripts/cases/http.ts";
import type { HttpCase } from "../../scripts/cases/http-types.ts";

const load = (file: string) =>
  (JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8")) as { cases: HttpCase[] }).cases;
// Each configuration is a server to boot: what differs by settings alone is proven without one.
const plain = load("../unit/http/fixtures/http-cases.json").filter(
  ({ config }) => config?.cors === undefined && config?.rate === undefined,
);
const all = [...plain, ...load("./fixtures/model-cases.json")];

let cases: HttpCases;
beforeAll(async () => {
  cases = await HttpCases.start(inject("bundleDir"));
});
afterAll(() => cases?.close());

// spec: H-7 H-9 H-10 H-11 H-12 H-13 H-14
test.each(all.map((testCase) => [testCase.id, testCase.why, testCase] as const))(
  "%s holds on the real server: %s",
  async (_id, _why, testCase) => {
    expect(await cases.run(testCase)).toEqual({ id: testCase.id, failures: [] });
  },
);
