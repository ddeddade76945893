import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { composeWorker, type WorkerEnv } from "../../src/app.ts";
import { type Bindings, readConfig, settingFault } from "../../src/compose/bindings.ts";
import { composeDeployment } from "../../src/compose/deployment.ts";

/** What a deployment with these vars says at its start; undefined: it starts. */
function fault(vars: Bindings): string | undefined {
  try {
    composeDeployment(vars, readConfig(vars));
    return undefined;
  } catch (error) {
    return settingFault(error)?.replace("configuration: ", "") ?? `no fault of a setting: ${String(error)}`;
  }
}

const KEY = btoa("k".repeat(32));

describe("a wrong setting stops the deployment and is told in plain words", () => {
  // spec: G-1 G-2 H-10
  test.each<[Bindings, string]>([
    [{ PERMISSION_MODE: "yolo" }, "PERMISSION_MODE: must be one of default, ask_edits, plan, bypass"],
    [{ RATE_LIMIT_PER_MINUTE: "abc" }, "RATE_LIMIT_PER_MINUTE: must be an integer of at least 0"],
    [{ RATE_LIMIT_PER_MINUTE: "-1" }, "RATE_LIMIT_PER_MINUTE: must be an integer of at least 0"],
    [{ MAX_TURNS: "0" }, "MAX_TURNS: must be an integer of at least 1"],
    [{ MAX_TURNS: "1.5" }, "MAX_TURNS: must be an integer of at least 1"],
    [{ KEEPALIVE_SECONDS: "soon" }, "KEEPALIVE_SECONDS: must be a number of at least 0.05"],
    [{ COMPACT_AT: "80" }, "COMPACT_AT: must be a number from 0.1 to 1"],
    [{ ALLOW_ANONYMOUS: "yes" }, "ALLOW_ANONYMOUS: must be true or false"],
    [{ BEARER_TOKEN: 12345678 }, "BEARER_TOKEN: must be text"],
    [{ STRICT_MODE: "compaction, pairing" }, "STRICT_MODE: must be a comma list of tool_result_pairing, compaction"],
    [{ SKILLS: "[{}]" }, "SKILLS.0.name: is required"],
    [{ SKILLS: "{" }, "SKILLS: must be JSON"],
    [{ MCP_SERVERS: 7 }, "MCP_SERVERS: must be JSON"],
    [{ MCP_SERVERS: '[{"name":"a","url":"https://x","tiemout":1}]' }, "MCP_SERVERS.0: there is no field tiemout"],
    [{ PERMISSION_RULES: '{"dney":[]}' }, "PERMISSION_RULES: there is no field dney"],
    [{ PERMISSION_RULES: '{"deny":["Bash("]}' }, "PERMISSION_RULES.deny.0: a permission rule looks like"],
    [{ PERMISSION_RULES: '{"deny":"Bash"}' }, "PERMISSION_RULES.deny: expected array, received string"],
    [{ MODEL_OVERRIDES: "{" }, "MODEL_OVERRIDES"],
    [{ DEFAULT_PROVIDER: "nosuch" }, "DEFAULT_PROVIDER: must be one of anthropic, openai"],
  ])("%j", (vars, text) => {
    expect(fault(vars)).toContain(text);
  });

  test("blanks and values of other kinds are no number, so that they never turn a limit off", () => {
    // spec: H-14
    for (const value of [" ", null, false, []]) {
      expect(fault({ RATE_LIMIT_PER_MINUTE: value })).toBe("RATE_LIMIT_PER_MINUTE: must be an integer of at least 0");
    }
  });

  test("what is left empty is not set, but for the header that names the client", () => {
    // spec: G-1 H-14
    const config = readConfig({ RATE_LIMIT_PER_MINUTE: "", ENCRYPTION_KEY: "", CLIENT_IP_HEADER: "" });
    expect(config).toMatchObject({ RATE_LIMIT_PER_MINUTE: 60, CLIENT_IP_HEADER: "" });
    expect(config.ENCRYPTION_KEY).toBeUndefined();
  });
});

describe("ENCRYPTION_KEY", () => {
  // spec: G-1
  test.each(["short", btoa("k".repeat(31)), btoa("k".repeat(33)), "k".repeat(32), "*".repeat(44)])(
    "that is not 32 bytes in base64 is refused, and not repeated: %s",
    (key) => {
      expect(fault({ ENCRYPTION_KEY: key })).toBe("ENCRYPTION_KEY: must be 32 bytes in base64");
    },
  );

  test("of 32 bytes is taken, with a line's end behind it too", () => {
    expect([fault({ ENCRYPTION_KEY: KEY }), fault({ ENCRYPTION_KEY: `${KEY}\n` })]).toEqual([undefined, undefined]);
  });
});

describe("SECRET_<NAME>", () => {
  // spec: S-5
  test("of less than 8 bytes is refused by name, without its value", () => {
    expect(fault({ SECRET_X: "shrt7" })).toBe('SECRET_X: secret "X" value too short (min 8 bytes): got 5');
    expect(fault({ SECRET_X: 12345678 })).toBe("SECRET_X: must be text");
  });

  test("counts in bytes; empty ones, settings of the guard and short provider keys are none", () => {
    expect(fault({ SECRET_X: "ööööö", SECRET_Y: "", SECRET_GUARD: "on", SECRET_RULES: "[]" })).toBeUndefined();
    expect(fault({ ANTHROPIC_API_KEY: "k", BEARER_TOKEN: "t" })).toBeUndefined();
  });
});

describe("SANDBOX_BACKEND", () => {
  // spec: G-4
  const token = { SANDBOX_TOKEN: "sandbox-token-0123" };
  // Its presence is all that is looked at.
  const SANDBOX = {} as Fetcher;
  const SANDBOX_URL = "https://sandbox.example.com";
  test.each<[Bindings, string | undefined]>([
    [{ SANDBOX_BACKEND: "docker" }, "SANDBOX_BACKEND: must be one of virtual, http, cloudflare, e2b"],
    [{ SANDBOX_BACKEND: "http", ...token }, "SANDBOX_URL: is not set: the http sandbox needs it"],
    [{ SANDBOX_BACKEND: "http", SANDBOX_URL }, "SANDBOX_TOKEN: is not set: the http sandbox needs it"],
    [
      { SANDBOX_BACKEND: "http", SANDBOX_URL: "sandbox:8788", ...token },
      "SANDBOX_URL: must be an http or https address",
    ],
    [
      { SANDBOX_BACKEND: "cloudflare", ...token },
      "SANDBOX_URL: is not set, nor is there a binding SANDBOX: the cloudflare sandbox needs it",
    ],
    [{ SANDBOX_BACKEND: "cloudflare", SANDBOX }, "SANDBOX_TOKEN: is not set: the cloudflare sandbox needs it"],
    [{ SANDBOX_BACKEND: "e2b" }, "SANDBOX_TOKEN: is not set: the e2b sandbox needs it"],
    [{ SANDBOX_BACKEND: "http", SANDBOX_URL, ...token }, undefined],
    [{ SANDBOX_BACKEND: "cloudflare", SANDBOX_URL, ...token }, undefined],
    [{ SANDBOX_BACKEND: "cloudflare", SANDBOX, ...token }, undefined],
    [{ SANDBOX_BACKEND: "e2b", ...token }, undefined],
  ])("%j", (vars, text) => {
    expect(fault(vars)).toBe(text);
  });
});

describe("PERMISSION_RULES", () => {
  // spec: G-1 S-1
  test.each(["Bsh", "bash", "Bash2(rm:*)", "Memory"])("that name a tool that is not there are refused: %s", (rule) => {
    const name = rule.split("(")[0];
    for (const kind of ["allow", "ask", "deny"]) {
      const text = fault({ PERMISSION_RULES: JSON.stringify({ [kind]: ["Read", rule] }) });
      expect(text).toContain(
        `PERMISSION_RULES: ${kind} names the tool ${name}, which does not exist; there are Bash, `,
      );
    }
  });

  test.each(["Bash", "Bash(npm run:*)", "W*", "*", "mcp__lab__look", "mcp__*"])("may name %s", (rule) => {
    expect(fault({ PERMISSION_RULES: { deny: [rule] } })).toBeUndefined();
  });
});

describe("a Worker with a wrong setting", () => {
  afterEach(() => vi.restoreAllMocks());

  function worker(more: Bindings) {
    const bindings = Object.assign({ ...(env as unknown as WorkerEnv) }, more);
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const app = composeWorker(bindings);
    const call = async (path: string, init: RequestInit = {}) =>
      app.fetch(new Request(`http://localhost${path}`, init), bindings);
    return { call, logged };
  }

  test("answers every route with the setting's name, as JSON, and logs it once", async () => {
    // spec: G-1 H-9 H-10 H-12
    const { call, logged } = worker({ PERMISSION_MODE: "yolo" });
    const message = "configuration: PERMISSION_MODE: must be one of default, ask_edits, plan, bypass";
    const post = { method: "POST", headers: { "content-type": "application/json", "x-request-id": "request-one" } };
    for (const [path, init] of [
      ["/v1/health", {}],
      ["/v1/tools", {}],
      ["/v1/nowhere", {}],
      ["/v1/sessions", { ...post, body: "{}" }],
      ["/v1/sessions/a/messages", { ...post, body: '{"prompt":"hi"}' }],
      ["/v1/sessions/a", { method: "DELETE" }],
    ] as const) {
      const response = await call(path, init);
      expect([response.status, response.headers.get("content-type")]).toEqual([500, "application/json"]);
      expect(response.headers.get("x-request-id")).toMatch("body" in init ? /^request-one$/ : /^req_[0-9a-f]+$/);
      expect(await response.json()).toEqual({ error: { type: "internal_error", message } });
    }
    expect(logged.mock.calls).toEqual([[JSON.stringify({ message })]]);
  });

  test("answers an error of another kind without its text, which the log has", async () => {
    // spec: H-10
    const bindings = new Proxy(env as unknown as WorkerEnv, {
      ownKeys: () => {
        throw new Error("text from within");
      },
    });
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const response = await composeWorker(bindings).request("http://localhost/v1/tools");
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: { type: "internal_error", message: "internal error" } });
    expect(String(logged.mock.calls)).toContain("text from within");
  });

  test("works once the setting is right", async () => {
    const { call, logged } = worker({ PERMISSION_MODE: "plan" });
    expect((await call("/v1/health")).status).toBe(200);
    expect(logged).not.toHaveBeenCalled();
  });
});
