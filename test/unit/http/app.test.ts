import { expect, test } from "vitest";
import { json, testApp } from "./support/fakes.ts";

const error = async (response: Response | Promise<Response>) => {
  const answer = await response;
  expect(answer.headers.get("content-type")).toBe("application/json");
  const { error: refusal } = (await answer.json()) as { error: { type: string; message: string } };
  return [answer.status, refusal.type, refusal.message];
};

// spec: H-12
test("names a request id on every response and keeps one that is safe", async () => {
  const { app } = testApp({ CORS_ORIGINS: "*" });
  const requests: [string, RequestInit][] = [
    ["/v1/health", {}],
    ["/v1/none", {}],
    ["/v1/tools", { method: "DELETE" }],
    ["/v1/tools", { method: "OPTIONS" }],
    ["/v1/agent/run", json("POST", { prompt: "hi" })],
    [
      "/v1/tools",
      { method: "OPTIONS", headers: { origin: "http://a.example", "access-control-request-method": "GET" } },
    ],
  ];
  for (const [path, init] of requests) {
    expect((await app.request(path, init)).headers.get("x-request-id")).toMatch(/^req_\d{12}$/);
  }
  const kept = await app.request("/v1/health", { headers: { "x-request-id": "abc.DEF-123_x" } });
  expect(kept.headers.get("x-request-id")).toBe("abc.DEF-123_x");
  for (const bad of ["short", "a b c d e f g", "x".repeat(129)]) {
    const replaced = await app.request("/v1/health", { headers: { "x-request-id": bad } });
    expect(replaced.headers.get("x-request-id")).toMatch(/^req_/);
  }
});

test.each([new Error("secret detail"), "a text"])(
  "answers a thrown %s with a bare 500 that keeps id and CORS",
  async (thrown) => {
    const { app, sessions, lines } = testApp({ CORS_ORIGINS: "http://localhost:3000" });
    sessions.info = () => {
      throw thrown;
    };
    const failed = await app.request("/v1/sessions/s", { headers: { origin: "http://localhost:3000" } });
    expect(failed.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
    const id = failed.headers.get("x-request-id");
    expect(await error(failed)).toEqual([500, "internal_error", "internal error"]);
    expect(lines.find((line) => line.level === "error")?.fields.request_id).toBe(id);
    expect(lines.at(-1)?.fields).toMatchObject({ status: 500, path: "/v1/sessions/s" });
  },
);

// spec: H-9, H-10
test("answers unknown paths and methods with JSON, 405 with Allow", async () => {
  const { app } = testApp();
  expect(await error(app.request("/v1/none"))).toEqual([404, "not_found_error", "no such endpoint"]);
  expect((await app.request("/v1/%74ools")).status).toBe(404);
  const wrong = await app.request("/v1/sessions/s", { method: "PUT" });
  expect(wrong.headers.get("allow")).toBe("GET, DELETE, HEAD, OPTIONS");
  expect(await error(wrong)).toEqual([405, "invalid_request_error", "method PUT is not allowed here"]);
  expect((await app.request("/v1/agent/run")).headers.get("allow")).toBe("POST, OPTIONS");
  const options = await app.request("/v1/sessions", { method: "OPTIONS" });
  expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, POST, HEAD, OPTIONS"]);
  const head = await app.request("/v1/health", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

// spec: H-2
test.each([
  [{}, "prompt is required"],
  [{ prompt: "" }, "prompt is required"],
  [{ prompt: null }, "prompt must be a string"],
  [{ prompt: "😀".repeat(11) }, "prompt must be at most 10 characters"],
  [{ prompt: "hi", max_turns: 0 }, "max_turns must be at least 1"],
  [{ prompt: "hi", max_turns: "3" }, "max_turns: expected number, received string"],
  [{ prompt: "hi", stop_sequences: ["a", 1] }, "stop_sequences.1: expected string, received number"],
  [{ prompt: "hi", stop_sequences: "a" }, "stop_sequences: expected array, received string"],
  [{ prompt: "hi", stop_sequences: [""] }, "stop_sequences.0: must not be empty"],
  [{ prompt: "hi", stop_sequences: Array(17).fill("a") }, "stop_sequences: must have at most 16 entries"],
  [{ prompt: "hi", actor_id: "a".repeat(257) }, "actor_id: must have at most 256 characters"],
  [{ prompt: "hi", max_cost_usd: 0 }, "max_cost_usd: must be more than 0"],
  [{ prompt: "hi", thinking_budget: -1 }, "thinking_budget: must be at least 0"],
  [{ prompt: "hi", thinking_budget: 1.5 }, "thinking_budget: must be an integer"],
  [{ prompt: "hi", effort: "huge" }, "effort: must be one of low, medium, high"],
  [{ prompt: "hi", bundle: { scenario: "a" } }, "bundle.model_family: is required"],
  [{ prompt: "hi", permission_rules: { dney: [] } }, "permission_rules: there is no field dney"],
  [{ prompt: "hi", secrets: { "bad-name": "12345678" } }, "secrets.bad-name: a name must be 1 to 64 of A-Z a-z 0-9 _"],
  [{ prompt: "hi", secrets: { PATH: "12345678" } }, "secrets.PATH: this name is taken by the shell"],
  [{ prompt: "hi", metadata: { ["k".repeat(65)]: "" } }, `metadata.${"k".repeat(64)}: this name is not allowed`],
  [{ prompt: "hi", model: "x\r\nX-Evil: 1" }, "model must not contain blanks or control characters"],
  [[], "request body must be a JSON object"],
  [null, "request body must be a JSON object"],
])("refuses the run %j and names what is wrong", async (body, message) => {
  const { app } = testApp({ MAX_PROMPT_CHARS: 10 });
  expect(await error(app.request("/v1/agent/run", json("POST", body)))).toEqual([
    400,
    "invalid_request_error",
    message,
  ]);
});

test("streams a run and ignores fields it does not know", async () => {
  const { app } = testApp({ MAX_PROMPT_CHARS: 10 });
  const run = await app.request("/v1/agent/run", json("POST", { prompt: "😀".repeat(10), unknown: { deep: [1] } }));
  expect(run.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(run.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(run.headers.get("x-accel-buffering")).toBe("no");
  expect(await run.text()).toContain("event: done\n");
});

// spec: H-9
test("bounds, decodes and types a body before it is used", async () => {
  const { app } = testApp({ MAX_BODY_BYTES: 200 });
  const send = (body: string | Uint8Array | ReadableStream, headers: Record<string, string> = {}) =>
    error(
      app.request("/v1/agent/run", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
        duplex: "half",
      } as RequestInit),
    );
  const refused = (message: string) => [400, "invalid_request_error", message];
  const long = `{"prompt":"${"a".repeat(200)}"}`;
  expect(await send(long)).toEqual(refused("request body must be at most 200 bytes"));
  expect(await send(new Blob([long]).stream())).toEqual(refused("request body must be at most 200 bytes"));
  expect(await send(long, { "content-length": "7x" })).toEqual(refused("request body must be at most 200 bytes"));
  expect(await send("{}", { "content-encoding": "gzip" })).toEqual(
    refused("Content-Encoding is not supported: send the body as it is"),
  );
  expect(await send("{}", { "content-type": "text/plain" })).toEqual(refused("Content-Type must be application/json"));
  expect(await send(new Uint8Array([0x7b, 0xff, 0x7d]))).toEqual(refused("request body is not valid UTF-8"));
  expect(await send('{"prompt":"hi"} x')).toEqual(refused("request body is not valid JSON"));
  expect(await send("")).toEqual(refused("request body is not valid JSON"));
  expect(await send(`{"prompt":"hi","x":${"[".repeat(64)}${"]".repeat(64)}}`)).toEqual(
    refused("request body is nested deeper than 64 levels"),
  );
});

// spec: H-3, H-4, H-5
test("creates, shows and deletes a session", async () => {
  const { app } = testApp();
  const created = await app.request("/v1/sessions", { method: "POST" });
  expect(created.status).toBe(201);
  expect(await created.json()).toEqual({ session_id: "sess_000000000001", created_at: "2026-11-01T00:00:00.000Z" });
  expect((await app.request("/v1/sessions", json("POST", { session_id: "own" }))).status).toBe(201);
  expect((await error(app.request("/v1/sessions", json("POST", { session_id: "own" }))))[0]).toBe(409);
  expect(await (await app.request("/v1/sessions/own")).json()).toMatchObject({ session_id: "own", message_count: 0 });
  expect(await (await app.request("/v1/sessions/own", { method: "DELETE" })).json()).toEqual({ status: "deleted" });
  for (const id of ["own", "..%2f..%2fv1%2ftools", "%E0%A4%A", "a%00", "x".repeat(129), "a%2520b"]) {
    expect(await error(app.request(`/v1/sessions/${id}`))).toEqual([404, "not_found_error", "session not found"]);
  }
  expect(await error(app.request("/v1/sessions", json("POST", { session_id: "../x" })))).toEqual([
    400,
    "invalid_request_error",
    "session_id: must be 1 to 128 of A-Z a-z 0-9 _ . -",
  ]);
});

// spec: H-6, G-3
test("hands a message over with the caller's own provider", async () => {
  const { app, sessions } = testApp({ ALLOW_REQUEST_BASE_URL: "true" });
  expect((await error(app.request("/v1/sessions/s/messages", json("POST", { prompt: "hi" }))))[0]).toBe(404);
  await app.request("/v1/sessions", json("POST", { session_id: "s" }));
  const headers = {
    "x-flyto-provider": "OpenAI",
    "x-flyto-provider-key": "key-1",
    "x-flyto-provider-base-url": "https://models.example/v1",
  };
  const sent = await app.request("/v1/sessions/s/messages", json("POST", { prompt: "hi", on_busy: "queue" }, headers));
  expect(await sent.text()).toBe('id: 1\nevent: done\ndata: {"stop_reason":"end_turn"}\n\n');
  expect(sessions.calls.at(-1)).toMatchObject([
    "send",
    { tenant: "default", provider: { name: "openai", key: "key-1", baseUrl: "https://models.example/v1" } },
    "s",
    { prompt: "hi", on_busy: "queue" },
  ]);
});

test.each([
  [{ "x-flyto-provider": "a b" }, "X-Flyto-Provider must be"],
  [{ "x-flyto-provider-key": "k\u00e9y" }, "X-Flyto-Provider-Key must be"],
  [{ "x-flyto-provider-base-url": "https://a.example" }, "X-Flyto-Provider-Base-Url needs X-Flyto-Provider-Key"],
  [
    { "x-flyto-provider-key": "k", "x-flyto-provider-base-url": "ftp://a.example" },
    "X-Flyto-Provider-Base-Url must be an http",
  ],
  [
    { "x-flyto-provider-key": "k", "x-flyto-provider-base-url": "https://u:p@a.example" },
    "X-Flyto-Provider-Base-Url must be an http",
  ],
])("refuses the provider headers %j", async (headers, message) => {
  const { app } = testApp({ ALLOW_REQUEST_BASE_URL: "true" });
  const [status, , text] = await error(app.request("/v1/agent/run", json("POST", { prompt: "hi" }, headers)));
  expect(status).toBe(400);
  expect(text).toContain(message);
});

test("refuses a base URL unless the deployment allows one", async () => {
  const headers = { "x-flyto-provider-key": "k", "x-flyto-provider-base-url": "https://a.example" };
  const refused = await error(testApp().app.request("/v1/agent/run", json("POST", { prompt: "hi" }, headers)));
  expect(refused).toEqual([
    400,
    "invalid_request_error",
    "X-Flyto-Provider-Base-Url needs ALLOW_REQUEST_BASE_URL=true",
  ]);
});

// spec: H-7
test("answers a permission request once, by either path", async () => {
  const { app, sessions } = testApp();
  await app.request("/v1/sessions", json("POST", { session_id: "s" }));
  for (const path of ["permissions", "decisions"]) {
    const url = `/v1/sessions/s/${path}/${sessions.park("s")}`;
    expect(await error(app.request(url, json("POST", {})))).toEqual([
      400,
      "invalid_request_error",
      "allow is required",
    ]);
    expect((await error(app.request(url, json("POST", { allow: "true" }))))[2]).toBe("allow must be true or false");
    expect(await (await app.request(url, json("POST", { allow: true }))).json()).toEqual({ status: "ok" });
    expect((await error(app.request(url, json("POST", { allow: true }))))[0]).toBe(409);
  }
  expect((await error(app.request("/v1/sessions/s/permissions/none", json("POST", { allow: true }))))[0]).toBe(404);
  expect((await error(app.request("/v1/sessions/s/permissions/a%2Fb", json("POST", { allow: true }))))[0]).toBe(404);
  expect(await (await app.request("/v1/sessions/s/permissions")).json()).toEqual({ data: [] });
});

// spec: H-20
test("cancels with or without a body and pages the history", async () => {
  const { app, sessions } = testApp();
  await app.request("/v1/sessions", json("POST", { session_id: "s" }));
  expect(await (await app.request("/v1/sessions/s/cancel", { method: "POST" })).json()).toEqual({ cancelled: false });
  await app.request("/v1/sessions/s/cancel", json("POST", { reason: "stop" }));
  expect(sessions.calls.at(-1)).toEqual(["cancel", "s", { reason: "stop" }]);
  await app.request("/v1/sessions/s/messages");
  expect(sessions.calls.at(-1)).toEqual(["history", "s", { limit: 50, cursor: undefined }]);
  await app.request("/v1/sessions/s/messages?limit=7&cursor=abc");
  expect(sessions.calls.at(-1)).toEqual(["history", "s", { limit: 7, cursor: "abc" }]);
  for (const query of ["limit=0", "limit=201", "limit=x", "cursor=%20"]) {
    expect((await error(app.request(`/v1/sessions/s/messages?${query}`)))[0]).toBe(400);
  }
});

test("moves files in and out as raw bytes", async () => {
  const { app } = testApp({ MAX_BODY_BYTES: 30 });
  await app.request("/v1/sessions", json("POST", { session_id: "s" }));
  const bytes = new Uint8Array([0, 255, 10]);
  const put = (path: string, body = bytes) => app.request(`/v1/sessions/s/files${path}`, { method: "PUT", body });
  expect((await put("/dir/a%20b.bin")).status).toBe(200);
  const got = await app.request("/v1/sessions/s/files/dir%2Fa%20b.bin");
  expect(got.headers.get("content-type")).toBe("application/octet-stream");
  expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
  expect(await (await app.request("/v1/sessions/s/files/")).json()).toEqual({
    entries: [{ name: "dir/a b.bin", kind: "file", size: 3 }],
  });
  for (const path of ["/a%00b", "/..%2Fetc", "/a%2F..%2F..%2Fb", "/%E0%A4%A", "/", ""]) {
    expect((await error(put(path)))[0]).toBe(400);
  }
  expect((await error(put("/big", new Uint8Array(31))))[2]).toBe("request body must be at most 30 bytes");
  expect((await app.request("/v1/sessions/s/files/dir/a%20b.bin", { method: "DELETE" })).status).toBe(200);
  expect((await error(app.request("/v1/sessions/s/files/dir/a%20b.bin")))[0]).toBe(404);
});

// spec: H-8
test("lists the tools", async () => {
  expect(await (await testApp().app.request("/v1/tools")).json()).toEqual({
    tools: [{ name: "Read", description: "Reads a file.", input_schema: { type: "object", properties: {} } }],
    count: 1,
  });
});

// spec: H-13
test("names the product's own headers to a preflight that asks for one", async () => {
  const { app } = testApp({ CORS_ORIGINS: "http://localhost:3000", BEARER_TOKEN: "t" });
  const preflight = async (asked: string) =>
    (
      await app.request("/v1/agent/run", {
        method: "OPTIONS",
        headers: {
          origin: "http://localhost:3000",
          "access-control-request-method": "POST",
          "access-control-request-headers": asked,
        },
      })
    ).headers.get("access-control-allow-headers");
  expect(await preflight("authorization,content-type")).toBe("Content-Type, Authorization");
  expect(await preflight("content-type, x-flyto-provider")).toContain("Content-Type, Authorization, X-Flyto-Provider,");
});

test("sends no CORS header when none is configured", async () => {
  const plain = await testApp().app.request("/v1/health", { headers: { origin: "http://localhost:3000" } });
  expect([...plain.headers.keys()].filter((name) => name.startsWith("access-control") || name === "vary")).toEqual([]);
});
