import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { composeApp } from "../../src/app.ts";
import type { TenantSettings } from "../../src/contract/tenants.ts";
import { createSingleTokenTenants } from "../../src/http/tenants.ts";
import { sha256Hex } from "../../src/shared/digest.ts";
import { createD1Tenants } from "../../src/tenants/d1-tenants.ts";
import { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { script, seen } from "./support/client.ts";

type Env = Parameters<typeof composeApp>[0];
type Call = (token: string, path: string, init?: RequestInit) => Promise<Response>;

const baseEnv = env as unknown as Env;

/** An isolate of its own: caches begin empty. */
function deployment(vars: Record<string, string> = {}): Call {
  const bindings = { ...baseEnv, ...vars };
  const app = composeApp(bindings);
  return async (token, path, init = {}) => {
    const headers = new Headers(init.headers);
    if (token !== "") headers.set("authorization", `Bearer ${token}`);
    return app.fetch(new Request(`https://flyto.example${path}`, { ...init, headers }), bindings);
  };
}

function posted(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

async function addTenant(id: string, settings: TenantSettings = {}): Promise<string> {
  const token = `token-of-${id}`;
  await env.DB.prepare("INSERT INTO tenants (id, token_sha256, created_at, settings) VALUES (?, ?, ?, ?)")
    .bind(id, await sha256Hex(token), new Date().toISOString(), JSON.stringify(settings))
    .run();
  return token;
}

/** Status and body without what differs in every answer. */
async function told(response: Response): Promise<unknown> {
  return [response.status, await response.json()];
}

describe("two tenants", () => {
  let call: Call;
  let anna = "";
  let bert = "";
  let decision = "";

  beforeAll(async () => {
    call = deployment();
    anna = await addTenant("anna");
    bert = await addTenant("bert");
    await script("tenants", [
      anthropicTurn({ calls: [{ id: "b", name: "Bash", input: { command: "echo hi > made.txt" } }] }),
      anthropicTurn({ text: "done" }),
    ]);
    await call(anna, "/v1/sessions", posted({ session_id: "work" }));
    await call(anna, "/v1/sessions/work/files/plan.txt", { method: "PUT", body: "secret plan" });
    const body = { prompt: "go", provider: "anthropic" };
    const sent = await call(
      anna,
      "/v1/sessions/work/messages",
      posted(body, { "x-flyto-provider-key": "key-tenants" }),
    );
    const stream = new SseReader(sent);
    decision = String((await stream.until("permission_request")).data.id);
  });

  test.each([
    ["GET", (id: string) => `/v1/sessions/${id}`],
    ["DELETE", (id: string) => `/v1/sessions/${id}`],
    ["GET", (id: string) => `/v1/sessions/${id}/messages`],
    ["POST", (id: string) => `/v1/sessions/${id}/messages`],
    ["GET", (id: string) => `/v1/sessions/${id}/events`],
    ["GET", (id: string) => `/v1/sessions/${id}/stats`],
    ["POST", (id: string) => `/v1/sessions/${id}/fork`],
    ["POST", (id: string) => `/v1/sessions/${id}/cancel`],
    ["GET", (id: string) => `/v1/sessions/${id}/permissions`],
    ["POST", (id: string) => `/v1/sessions/${id}/permissions/${decision}`],
    ["GET", (id: string) => `/v1/sessions/${id}/files/plan.txt`],
    ["PUT", (id: string) => `/v1/sessions/${id}/files/plan.txt`],
    ["DELETE", (id: string) => `/v1/sessions/${id}/files/plan.txt`],
    ["GET", (id: string) => `/v1/audit/verify?session_id=${id}`],
  ])("%s on another's session is answered as for one that is missing", async (method, path) => {
    // spec: G-5
    const body = { prompt: "hi", provider: "demo", allow: true };
    const init = method === "POST" ? posted(body) : { method, ...(method === "PUT" ? { body: "x" } : {}) };
    const foreign = await told(await call(bert, path("work"), init));
    expect(foreign).toEqual(await told(await call(bert, path("nothing"), init)));
    expect(foreign).toMatchObject([404, { error: { type: "not_found_error" } }]);
  });

  test("see their own lists and audit only, and may use the same session id", async () => {
    // spec: G-5 S-4 H-20
    expect(await told(await call(anna, `/v1/sessions/work/permissions/${decision}`, posted({ allow: true })))).toEqual([
      200,
      { status: "ok" },
    ]);
    await vi.waitFor(async () => {
      const { data } = (await (await call(anna, "/v1/audit")).json()) as { data: { session_id: string }[] };
      expect(data.map((entry) => entry.session_id)).toEqual(["work", "work"]);
    }, 5_000);
    expect(await told(await call(bert, "/v1/audit?session_id=work"))).toEqual([200, { data: [], next_cursor: null }]);
    expect(await told(await call(bert, "/v1/sessions"))).toEqual([200, { data: [], next_cursor: null }]);
    const page = (await (await call(anna, "/v1/audit?limit=1")).json()) as { next_cursor: string };
    expect((await call(bert, `/v1/audit?cursor=${page.next_cursor}`)).status).toBe(400);
    expect((await call(bert, "/v1/sessions", posted({ session_id: "work" }))).status).toBe(201);
    expect((await call(bert, "/v1/sessions/work/files/plan.txt")).status).toBe(404);
    expect((await call(bert, "/v1/sessions/work", { method: "DELETE" })).status).toBe(200);
    expect(await (await call(anna, "/v1/sessions/work/files/plan.txt")).text()).toBe("secret plan");
  });

  test("need their tokens, even from the machine itself", async () => {
    // spec: H-11 G-5
    expect((await call("", "/v1/sessions")).status).toBe(401);
    expect((await call("guess", "/v1/sessions")).status).toBe(403);
    const app = composeApp(baseEnv);
    expect((await app.fetch(new Request("http://localhost/v1/sessions"), baseEnv)).status).toBe(401);
  });

  test("leave the deployment's own token to the default tenant", async () => {
    const own = deployment({ BEARER_TOKEN: "the-one" });
    expect(await told(await own("the-one", "/v1/sessions/work"))).toMatchObject([404, {}]);
    expect((await own(anna, "/v1/sessions/work")).status).toBe(200);
  });
});

describe("a token", () => {
  const single = createSingleTokenTenants(undefined);

  test("stops working within half a minute of being revoked, and nothing opens with the last one gone", async () => {
    // spec: G-5
    const token = await addTenant("gone");
    let now = 0;
    const tenants = createD1Tenants({ database: env.DB, single, now: () => now });
    expect(await tenants.find(token)).toMatchObject({ tenant: "gone" });
    await env.DB.prepare("UPDATE tenants SET revoked_at = '2026-11-01T00:00:00Z' WHERE id = 'gone'").run();
    now = 30_000;
    expect(await tenants.find(token)).toBeUndefined();
    expect((await deployment()(token, "/v1/sessions")).status).toBe(403);
    expect(await tenants.required()).toBe(true);
  });

  test("is looked up once in that time", async () => {
    const token = await addTenant("cached");
    const prepare = vi.fn(env.DB.prepare.bind(env.DB));
    const tenants = createD1Tenants({ database: { prepare } as unknown as D1Database, single, now: () => 0 });
    for (let i = 0; i < 3; i++) expect(await tenants.find(token)).toMatchObject({ tenant: "cached" });
    for (let i = 0; i < 3; i++) expect(await tenants.find("guess")).toBeUndefined();
    expect(prepare).toHaveBeenCalledTimes(2);
  });

  test("of a tenant whose settings cannot be read lets nobody in", async () => {
    const token = await addTenant("odd");
    await env.DB.prepare(`UPDATE tenants SET settings = '{"permission_mod":"plan"}' WHERE id = 'odd'`).run();
    expect((await deployment()(token, "/v1/sessions")).status).toBe(403);
  });

  test("is needed by nobody where the database was not brought up to date", async () => {
    const prepare = () => ({
      first: () => Promise.reject(new Error("D1_ERROR: no such table: tenants: SQLITE_ERROR")),
    });
    const tenants = createD1Tenants({ database: { prepare } as unknown as D1Database, single, now: () => 0 });
    expect(await tenants.required()).toBe(false);
  });
});

describe("a token revoked while its streams are open", () => {
  const vars = { TOKEN_CHECK_SECONDS: "0.2", UPSTREAM_IDLE_SECONDS: "60" };

  async function revoke(id: string): Promise<void> {
    await env.DB.prepare("UPDATE tenants SET revoked_at = '2026-11-01T00:00:00Z' WHERE id = ?").bind(id).run();
    // What an isolate remembers of it is now as old as it may get.
    vi.setSystemTime(Date.now() + 30_000);
  }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const refused = { type: "error", data: { error: "invalid bearer token", category: "permission", retryable: false } };

  test("ends its watchers with one error; its run goes on", async () => {
    // spec: G-5 E-12 E-30
    const call = deployment(vars);
    const token = await addTenant("watched");
    await script("watched", [
      anthropicTurn({ calls: [{ id: "b", name: "Bash", input: { command: "echo hi > made.txt" } }] }),
    ]);
    await call(token, "/v1/sessions", posted({ session_id: "work" }));
    const sent = await call(
      token,
      "/v1/sessions/work/messages",
      posted({ prompt: "go", provider: "anthropic" }, { "x-flyto-provider-key": "key-watched" }),
    );
    const message = new SseReader(sent);
    await message.until("permission_request");
    const events = new SseReader(await call(token, "/v1/sessions/work/events"));
    await events.until("permission_request");
    await revoke("watched");
    for (const stream of [message, events]) {
      await stream.toEnd();
      expect(stream.seen.filter(({ type }) => type === "done" || type === "error")).toMatchObject([refused]);
    }
    const object = env.SESSION.getByName("watched/work");
    expect(await object.openDecisions()).toMatchObject({ ok: true, value: [{ tool_name: "Bash" }] });
  });

  test("ends its stateless run", async () => {
    // spec: G-5 E-12 H-2
    const call = deployment(vars);
    const token = await addTenant("stateless");
    const turn = anthropicTurn({ text: "a slow answer" });
    await script("stateless", [{ ...turn, chunks: turn.chunks.slice(0, 2), end: "stall" }]);
    const sent = await call(
      token,
      "/v1/agent/run",
      posted({ prompt: "go", provider: "anthropic" }, { "x-flyto-provider-key": "key-stateless" }),
    );
    const run = new SseReader(sent);
    await run.until("turn_start");
    await revoke("stateless");
    await run.toEnd();
    expect(run.seen.filter(({ type }) => type === "done" || type === "error")).toMatchObject([refused]);
    await vi.waitFor(async () => expect(await seen("stateless")).toMatchObject([{ aborted: true }]), 5_000);
  });
});

describe("the limit of a tenant", () => {
  const from = (ip: string, extra: Record<string, string> = {}): RequestInit => ({
    headers: { "cf-connecting-ip": ip, ...extra },
  });

  test("is its own: two behind one address do not disturb each other", async () => {
    // spec: H-14 G-5
    const [one, two] = [await addTenant("one"), await addTenant("two", { rate_per_minute: 3 })];
    const call = deployment({ RATE_LIMIT_PER_MINUTE: "5" });
    const statuses = async (token: string, count: number): Promise<number[]> => {
      const seen: number[] = [];
      for (let i = 0; i < count; i++) seen.push((await call(token, "/v1/sessions", from("198.51.100.1"))).status);
      return seen;
    };
    expect(await statuses(two, 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses(one, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    const refused = await call(two, "/v1/sessions", from("198.51.100.1"));
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  });

  test("is one over many addresses, and a forged header changes nothing", async () => {
    // spec: H-14
    const token = await addTenant("many");
    const call = deployment({ RATE_LIMIT_PER_MINUTE: "5" });
    const seen: number[] = [];
    for (let i = 0; i < 7; i++) {
      const forged = { "x-forwarded-for": `203.0.113.${i}`, "x-real-ip": `203.0.113.${i}` };
      seen.push((await call(token, "/v1/sessions", from(`198.51.100.${10 + i}`, forged))).status);
    }
    expect(seen).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const guesses: number[] = [];
    for (let i = 0; i < 6; i++) {
      const init = from("198.51.100.99", { "x-forwarded-for": `203.0.113.${i}` });
      guesses.push((await call(`guess-${i}`, "/v1/sessions", init)).status);
    }
    expect(guesses).toEqual([403, 403, 403, 403, 403, 429]);
  });

  test("counts where the deployment has none", async () => {
    const token = await addTenant("narrow", { rate_per_minute: 2 });
    const call = deployment({ RATE_LIMIT_PER_MINUTE: "0" });
    const seen: number[] = [];
    for (let i = 0; i < 3; i++) seen.push((await call(token, "/v1/sessions", from("198.51.100.2"))).status);
    expect(seen).toEqual([200, 200, 429]);
  });
});

describe("a tenant's own settings", () => {
  async function run(token: string, body: object, vars: Record<string, string> = {}): Promise<Response> {
    return deployment(vars)(token, "/v1/agent/run", posted({ prompt: "hi", ...body }));
  }

  test("choose provider and model when the request does not", async () => {
    // spec: G-2 G-5
    const token = await addTenant("chooser", { default_provider: "demo", default_model: "demo-two" });
    const response = await run(token, {}, { DEFAULT_PROVIDER: "anthropic" });
    const stream = new SseReader(response);
    expect((await stream.until("turn_start")).data.model).toBe("demo-two");
    await stream.toEnd();
  });

  test("keep its runs to its models and at least as strict as its mode", async () => {
    // spec: G-1 G-5
    const token = await addTenant("kept", {
      default_provider: "demo",
      allowed_models: ["demo"],
      permission_mode: "ask_edits",
    });
    expect(await told(await run(token, { model: "other" }))).toMatchObject([
      400,
      { error: { message: "model is not one of those this tenant may use" } },
    ]);
    const looser = await told(await run(token, { permission_mode: "default" }));
    expect(looser).toMatchObject([400, { error: { message: "permission_mode must not be looser than ask_edits" } }]);
    const strict = await told(await run(token, { permission_mode: "ask_edits" }, { PERMISSION_MODE: "plan" }));
    expect(strict).toMatchObject([400, { error: { message: "permission_mode must not be looser than plan" } }]);
    const fine = await run(token, { permission_mode: "plan" });
    expect(fine.status).toBe(200);
    await new SseReader(fine).toEnd();
  });
});
