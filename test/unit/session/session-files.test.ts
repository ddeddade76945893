import { describe, expect, test } from "vitest";
import { getFile, putFile, removeFile } from "../../../durable-objects/session-files.ts";
import type { Sandbox } from "../../../src/contract/sandbox.ts";
import { createRemoteSandbox } from "../../../src/sandbox/remote/index.ts";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";

const OPERATIONS: readonly (readonly [string, (sandbox: Sandbox) => Promise<unknown>])[] = [
  ["GET", (sandbox) => getFile(sandbox, "x")],
  ["PUT", (sandbox) => putFile(sandbox, "x", new Uint8Array(1))],
  ["DELETE", (sandbox) => removeFile(sandbox, "x")],
];

// spec: H-10 H-20 X-3
describe.each(OPERATIONS)("%s of a file", (_, operate) => {
  test.each([
    ["cannot be reached", () => Promise.reject(new Error("refused")), "could not be reached"],
    ["answers with a proxy's page", async () => new Response("<h1>Bad gateway</h1>", { status: 502 }), "answered 502"],
  ])("is an error of the server's own when its sandbox server %s", async (_way, fetch, words) => {
    const access = { baseUrl: "http://sandbox.example", token: "t", sandboxId: "s1" };
    const sandbox = createRemoteSandbox({ backend: "http", ...access, fetch });
    expect(await operate(sandbox)).toMatchObject({
      ok: false,
      error: { type: "internal_error", message: expect.stringMatching(`^the http sandbox backend .*${words}`) },
    });
  });
});

test("what a caller's file breaks stays the caller's mistake", async () => {
  const sandbox = createMemorySandbox({ maxBytes: 1_000, maxFileBytes: 800, now: () => 0 });
  const outcomes = [
    await putFile(sandbox, "large", new Uint8Array(900)),
    [await putFile(sandbox, "one", new Uint8Array(700)), await putFile(sandbox, "two", new Uint8Array(700))],
    await getFile(sandbox, "one/below"),
    await getFile(sandbox, "missing"),
  ].flat();
  expect(outcomes.map((each) => each.ok || each.error.type)).toEqual([
    "invalid_request_error",
    true,
    "invalid_request_error",
    "invalid_request_error",
    "not_found_error",
  ]);
});
