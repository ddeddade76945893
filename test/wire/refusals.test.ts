import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anthropicTurn } from "../support/wires.ts";
import { Wire } from "./support/client.ts";

const TOKEN = "wire-token-0123456789";
const JSON_TYPE = { "content-type": "application/json" };
const INVALID = "invalid_request_error";

type Expected = readonly [status: number, type: string, message?: string];

async function refused(response: Response, [status, type, message]: Expected): Promise<void> {
  const body = (await response.json()) as { error: { type: string; message: string } };
  expect([response.status, body.error.type]).toEqual([status, type]);
  expect(body.error.message).toEqual(message === undefined ? expect.any(String) : expect.stringContaining(message));
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(response.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{8,128}$/);
}

describe("without a token configured", () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await Wire.start();
    await wire.session("strict", [anthropicTurn({ text: "fine" })]);
  });
  afterAll(() => wire?.close());

  // Every kind of refusal, each followed by a look at what is stored.
  const bodies: readonly (readonly [why: string, init: RequestInit, expected: Expected])[] = [
    ["no prompt", { headers: JSON_TYPE, body: "{}" }, [400, INVALID, "prompt"]],
    ["an empty prompt", { headers: JSON_TYPE, body: '{"prompt":""}' }, [400, INVALID, "prompt is required"]],
    [
      "a prompt of 100,001 characters",
      { headers: JSON_TYPE, body: JSON.stringify({ prompt: "a".repeat(100_001) }) },
      [400, INVALID, "prompt"],
    ],
    ["a prompt that is no text", { headers: JSON_TYPE, body: '{"prompt":7}' }, [400, INVALID, "prompt"]],
    ["max_turns of 0", { headers: JSON_TYPE, body: '{"prompt":"x","max_turns":0}' }, [400, INVALID, "max_turns"]],
    [
      "an unknown provider",
      { headers: JSON_TYPE, body: '{"prompt":"x","provider":"nope"}' },
      [400, INVALID, "provider"],
    ],
    [
      "a body of more than 10 MB, which is taken to its end so that its sender reads the answer,",
      { headers: JSON_TYPE, body: JSON.stringify({ prompt: "x", pad: "a".repeat(10_485_760) }) },
      [400, INVALID, "at most 10485760 bytes"],
    ],
    ["malformed JSON", { headers: JSON_TYPE, body: '{"prompt":' }, [400, INVALID]],
    ["no body", { headers: JSON_TYPE }, [400, INVALID]],
    ["a form's content type", { headers: { "content-type": "text/plain" }, body: '{"prompt":"x"}' }, [400, INVALID]],
  ];

  describe.each(["/v1/agent/run", "/v1/sessions/strict/messages"])("POST %s", (path) => {
    test.each(bodies)("%s is refused and nothing is stored", async (_why, init, expected) => {
      // spec: H-2 H-6 H-9 H-10 H-12
      await refused(await wire.call(path, { method: "POST", ...init }), expected);
      expect(await wire.json("/v1/sessions/strict")).toMatchObject({ message_count: 0 });
      expect(await wire.history("strict")).toEqual([]);
      expect(wire.upstream.left("strict")).toBe(1);
    });
  });

  test.each([
    ["GET", "/v1/sessions/nobody"],
    ["DELETE", "/v1/sessions/nobody"],
    ["GET", "/v1/sessions/nobody/messages"],
    ["POST", "/v1/sessions/nobody/messages"],
    ["GET", "/v1/sessions/nobody/permissions"],
    ["POST", "/v1/sessions/nobody/permissions/perm_none"],
    ["POST", "/v1/sessions/nobody/cancel"],
    ["GET", "/v1/sessions/nobody/files/a.txt"],
    ["GET", "/v1/none"],
  ])("%s %s is 404 and makes no session", async (method, path) => {
    // spec: H-4 H-5 H-6 H-7 H-10
    const body = JSON.stringify(path.includes("/permissions/") ? { allow: true } : { prompt: "x", provider: "demo" });
    const init = method === "POST" ? { headers: JSON_TYPE, body } : {};
    await refused(await wire.call(path, { method, ...init }), [404, "not_found_error"]);
    expect((await wire.call("/v1/sessions/nobody")).status).toBe(404);
  });

  test.each([
    ["PATCH", "/v1/health"],
    ["DELETE", "/v1/tools"],
    ["GET", "/v1/agent/run"],
    ["PUT", "/v1/sessions/strict"],
    ["DELETE", "/v1/sessions/strict/messages"],
    ["GET", "/v1/sessions/strict/cancel"],
  ])("%s %s is 405 and says what is allowed", async (method, path) => {
    // spec: H-10
    const response = await wire.call(path, { method });
    expect(response.headers.get("allow")).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
    expect(response.headers.get("allow")?.split(", ")).not.toContain(method);
    await refused(response, [405, INVALID]);
  });

  test("an id that is taken, and a message while a run is going, are 409", async () => {
    // spec: H-3 H-6 H-10
    const call = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt" } };
    await wire.session("busy", [anthropicTurn({ calls: [call] }), anthropicTurn({ text: "ok" })]);
    await refused(await wire.post("/v1/sessions", { session_id: "busy" }), [409, "conflict_error"]);
    const stream = await wire.send("busy", { prompt: "one" });
    const asked = await stream.until("permission_request");
    const second = { prompt: "two", provider: "anthropic" };
    const key = { "x-flyto-provider-key": "key-busy" };
    await refused(await wire.post("/v1/sessions/busy/messages", second, key), [409, "conflict_error"]);
    await wire.answer("busy", asked.data.id, true);
    await stream.toEnd();
    expect(JSON.stringify(await wire.history("busy"))).not.toContain("two");
  });

  test("a decision that is no decision leaves the question open", async () => {
    // spec: H-7 H-10
    const call = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt" } };
    await wire.session("open", [anthropicTurn({ calls: [call] }), anthropicTurn({ text: "ok" })]);
    const stream = await wire.send("open", { prompt: "one" });
    const { id } = (await stream.until("permission_request")).data;
    for (const body of [{}, { allow: "true" }, { allow: null }, []]) {
      await refused(await wire.post(`/v1/sessions/open/permissions/${String(id)}`, body), [400, INVALID]);
    }
    await wire.session("other", []);
    await refused(await wire.answer("other", id, true), [404, "not_found_error"]);
    expect((await wire.answer("open", id, true)).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
  });

  test("the refused session still works", async () => {
    const stream = await wire.send("strict", { prompt: "now" });
    await stream.toEnd();
    expect((await wire.history("strict")).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });
});

describe("with a token and a limit of eight a minute", () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await Wire.start({ BEARER_TOKEN: TOKEN, RATE_LIMIT_PER_MINUTE: "8" });
  });
  afterAll(() => wire?.close());
  const from = (ip: string, token?: string) => ({
    "cf-connecting-ip": ip,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  });

  test("a missing token is 401, a wrong one 403, and neither makes a session", async () => {
    // spec: H-11
    const create = (headers: Record<string, string>) => wire.post("/v1/sessions", { session_id: "guessed" }, headers);
    const missing = await create(from("198.51.100.1"));
    expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    await refused(missing, [401, "authentication_error", "missing Authorization header"]);
    await refused(await create(from("198.51.100.1", "wrong")), [403, "permission_error", "invalid bearer token"]);
    expect((await wire.call("/v1/health")).status).toBe(200);
    const look = await wire.call("/v1/sessions/guessed", { headers: from("198.51.100.1", TOKEN) });
    expect(look.status).toBe(404);
    expect(wire.output).not.toContain(TOKEN);
  });

  test("the ninth request of a minute is 429 with Retry-After; health and other clients go on", async () => {
    // spec: H-14
    const guess = (ip: string) => wire.call("/v1/tools", { headers: from(ip, "guess") });
    for (let i = 0; i < 8; i++) expect((await guess("198.51.100.2")).status).toBe(403);
    const limited = await guess("198.51.100.2");
    const seconds = Number(limited.headers.get("retry-after"));
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true);
    await refused(limited, [429, "rate_limit_error"]);
    expect((await guess("198.51.100.3")).status).toBe(403);
    expect((await wire.call("/v1/health", { headers: from("198.51.100.2") })).status).toBe(200);
  });

  test("a limited request stores nothing", async () => {
    // spec: H-14
    const create = (id: string) =>
      wire.post("/v1/sessions", { session_id: id }, from("198.51.100.4", TOKEN)).then(({ status }) => status);
    const statuses: number[] = [];
    while (!statuses.includes(429) && statuses.length < 10) statuses.push(await create(`s${statuses.length}`));
    expect(statuses.at(-1)).toBe(429);
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([201]));
  });
});
