import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolContext } from "../../../src/contract/tools.ts";
import { toModelTool } from "../../../src/tools/definition.ts";
import { ScriptedMcp } from "../../support/scripted-mcp.ts";
import { MCP_TOOLS } from "../../support/scripted-mcp-tools.ts";
import { lab, use } from "./world.ts";

let server: ScriptedMcp;
beforeAll(async () => {
  server = await ScriptedMcp.start();
});
afterAll(() => server.close());

const at = (path: string, more = {}) => ({ name: "lab", url: `${server.url}${path}`, ...more });

describe("listing", () => {
  // spec: K-4 H-8
  test.each(["/sse", "/json", "/plain"])(
    "finds the tools of all pages with their schemas as they are (%s)",
    async (path) => {
      const { mcp } = lab([at(path)]);
      const tools = await mcp.tools("run_1");
      expect(tools.map(({ name }) => name)).toEqual(
        MCP_TOOLS.map(({ name }) => `mcp__lab__${name.replace(/[./]/g, "_")}`).sort(),
      );
      const echo = tools.find(({ name }) => name === "mcp__lab__echo");
      expect(echo && toModelTool(echo)).toEqual({
        name: "mcp__lab__echo",
        description: "The tool echo of the lab",
        inputSchema: MCP_TOOLS[0]?.inputSchema,
      });
    },
  );

  test("a tool asks unless the operator says that it only reads; the server's own word only makes it stricter", async () => {
    // spec: K-4 S-1
    const { mcp } = lab([at("/sse", { read_only_tools: ["look"], timeout_seconds: 7 })]);
    const tools = await mcp.tools("run_1");
    const find = (name: string) => tools.find((tool) => tool.name === `mcp__lab__${name}`);
    expect(find("look")?.metadata).toMatchObject({
      permissionClass: "readonly",
      readOnly: true,
      concurrencySafe: true,
    });
    expect(find("wipe")?.metadata).toMatchObject({ permissionClass: "generic", readOnly: false, destructive: true });
    expect(find("echo")?.metadata).toMatchObject({
      permissionClass: "generic",
      recovery: "unknown",
      auditOperation: "invoke",
    });
    expect(find("echo")?.timeoutMs?.({})).toBe(7000);
  });

  test("a server that is broken, silent or cannot be reached costs its own tools and a line for the operator", async () => {
    const { mcp, observed } = lab(
      [
        { name: "gone", url: "http://127.0.0.1:1/mcp" },
        { name: "ill", url: `${server.url}/broken` },
        { name: "mute", url: `${server.url}/silent` },
        at("/json"),
      ],
      { listMs: 500 },
    );
    const tools = await mcp.tools("run_1");
    expect(tools).toHaveLength(MCP_TOOLS.length);
    expect(observed.map(({ name }) => name)).toEqual(Array(3).fill("mcp_server_unavailable"));
    const told = Object.fromEntries(observed.map(({ data }) => [data.server, data]));
    expect(told).toMatchObject({ gone: { timed_out: false }, ill: { status: 500 }, mute: { timed_out: true } });
  });

  test("schemas that are too large or too deep are left out, and the operator is told", async () => {
    let deep: Record<string, unknown> = { type: "string" };
    for (let i = 0; i < 40; i++) deep = { type: "array", items: deep };
    const extra = [
      { name: "deep", inputSchema: { type: "object", properties: { deep } } },
      { name: "large", inputSchema: { type: "object", description: "x".repeat(70_000) } },
    ];
    MCP_TOOLS.push(...(extra as unknown as typeof MCP_TOOLS));
    try {
      const { mcp, observed } = lab([at("/json")]);
      expect(await mcp.tools("run_1")).toHaveLength(MCP_TOOLS.length - 2);
      expect(observed).toEqual([{ name: "mcp_tools_left_out", data: { server: "lab", count: 2 } }]);
    } finally {
      MCP_TOOLS.length -= 2;
    }
  });

  test("a list holds all through its run, is asked for anew when it is old, and so when the configuration changes", async () => {
    const { mcp, clock, store } = lab([at("/json")]);
    const lists = () => server.seen.filter(({ body }) => body?.method === "tools/list").length;
    await mcp.tools("run_1");
    const before = lists();
    clock.now += 3_600_000;
    await mcp.tools("run_1");
    expect(lists()).toBe(before);
    await mcp.tools("run_2");
    expect(lists()).toBeGreaterThan(before);
    const again = lists();
    await mcp.tools("run_3");
    expect(lists()).toBe(again);
    await lab([at("/json", { read_only_tools: ["look"] })], { store }).mcp.tools("run_3");
    expect(lists()).toBeGreaterThan(again);
  });
});

describe("inputs", () => {
  test("are checked by the server's schema before anything is sent; its expressions are not run", async () => {
    const { mcp } = lab([at("/json")]);
    const echo = (await mcp.tools("run_1")).find(({ name }) => name === "mcp__lab__echo");
    expect(echo?.input.safeParse({ text: "hello" }).success).toBe(true);
    for (const wrong of [{}, { text: 7 }, { text: "" }, "hello"])
      expect(echo?.input.safeParse(wrong).success).toBe(false);
    // An expression that would never end here.
    expect(echo?.input.safeParse({ text: `${"a".repeat(64)}!\n` }).success).toBe(true);
  });
});

describe("calls", () => {
  const open = async (path = "/sse") => await lab([at(path)]).mcp.tools("run_1");

  test.each(["/sse", "/json", "/plain"])("give text as text (%s)", async (path) => {
    expect(await use(await open(path), "mcp__lab__echo", { text: "hi" })).toEqual({
      content: 'echo: {"text":"hi"}',
      isError: false,
    });
  });

  test("give pictures as pictures, name what cannot be shown, and show structured content that has no text", async () => {
    const tools = await open();
    expect(await use(tools, "mcp__lab__picture")).toEqual({
      isError: false,
      content: [
        { type: "text", text: "a dot" },
        { type: "image", media_type: "image/png", data: "iVBORw0KGgo=" },
        { type: "text", text: "[audio audio/wav, 3 bytes, not shown]" },
        { type: "text", text: "[resource file:///a.txt]\ninside" },
        { type: "text", text: "[resource b: file:///b.txt]" },
      ],
    });
    expect(await use(tools, "mcp__lab__structured")).toEqual({ content: '{"degrees":21}', isError: false });
  });

  test("keep the server's errors, and say what a broken connection means", async () => {
    const tools = await open();
    expect(await use(tools, "mcp__lab__fail")).toEqual({ content: "it broke", isError: true });
    expect(await use(tools, "mcp__lab__refuse")).toMatchObject({
      content: expect.stringContaining("the lab refuses"),
      isError: true,
    });
    expect(await use(tools, "mcp__lab__drop")).toEqual({
      content: "error: the connection to the MCP server lab failed; whether the call took effect is unknown",
      isError: true,
    });
  });

  test("tell their progress", async () => {
    const told: unknown[] = [];
    const progress: ToolContext["progress"] = (fraction, detail) => void told.push([fraction, detail]);
    expect(await use(await open(), "mcp__lab__progress", {}, { progress })).toMatchObject({ content: "whole" });
    expect(told).toEqual([[0.5, "half"]]);
  });

  test("of one session share the server's session, side by side as well; it is opened anew once when it is lost", async () => {
    const tools = await open();
    const count = () => use(tools, "mcp__lab__count");
    const together = await Promise.all([count(), count(), count()]);
    expect(together.map(({ content }) => content).sort()).toEqual(["call 1", "call 2", "call 3"]);
    server.forget();
    expect(await count()).toEqual({ content: "call 1", isError: false });
    expect(await count()).toEqual({ content: "call 2", isError: false });
  });

  test("that are given up tell the server so", async () => {
    const tools = await open();
    const stop = new AbortController();
    const call = use(tools, "mcp__lab__hang", { key: "given-up" }, { signal: stop.signal });
    await until(() => server.calls.some(({ input }) => input.key === "given-up"));
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    const request = server.seen.find(({ body }) => body?.params?.arguments?.key === "given-up");
    const told = () =>
      server.seen.find(
        ({ body }) => body?.method === "notifications/cancelled" && body.params.requestId === request?.body.id,
      );
    await until(() => told() !== undefined);
  });

  test("send the configured headers, and leave no session behind", async () => {
    const { mcp } = lab([at("/sse", { headers: { authorization: "Bearer secret-of-the-lab" } })]);
    const tools = await mcp.tools("run_1");
    expect(await use(tools, "mcp__lab__header")).toMatchObject({ content: "sent with Bearer secret-of-the-lab" });
    const before = server.sessions.size;
    await mcp.close();
    expect(server.sessions.size).toBe(before - 1);
  });
});

describe("questions of a server", () => {
  // spec: D-3
  const answer = { action: "accept", content: { name: "Ada" } } as const;

  test.each(["ask", "ask_aside"])("reach the call they belong to, with typed fields (%s)", async (name) => {
    const tools = await lab([at("/sse")]).mcp.tools("run_1");
    const asked: unknown[] = [];
    const elicit: ToolContext["elicit"] = async (question) => {
      asked.push(question);
      return answer;
    };
    const outcome = await use(tools, `mcp__lab__${name}`, {}, { elicit });
    expect(outcome).toEqual({ content: 'you said {"action":"accept","content":{"name":"Ada"}}', isError: false });
    expect(asked).toEqual([
      {
        server: "lab",
        message: "Who are you?",
        fields: [
          { name: "name", type: "string", required: true, title: "Your name", min_length: 2, max_length: 10 },
          { name: "age", type: "integer", required: false, minimum: 1, maximum: 150 },
          {
            name: "colour",
            type: "string",
            required: false,
            options: [
              { value: "red", title: "Red" },
              { value: "blue", title: "Blue" },
            ],
          },
          { name: "sure", type: "boolean", required: false, default: false },
        ],
      },
    ]);
  });

  test("on the session's own stream are heard while several calls run, and where the stream is not free at once", async () => {
    const tools = await lab([at("/sse")]).mcp.tools("run_1");
    const streams = () => server.seen.filter(({ verb }) => verb === "GET").length;
    const before = streams();
    const elicit: ToolContext["elicit"] = async () => answer;
    const ask = () => use(tools, "mcp__lab__ask_aside", {}, { elicit });
    const outcomes = await Promise.all([ask(), ask(), use(tools, "mcp__lab__echo", { text: "x" })]);
    expect(outcomes.map(({ isError }) => isError)).toEqual([false, false, false]);
    expect(outcomes[1]?.content).toContain("Ada");
    expect(streams() - before).toBe(1);
    server.busy = 1;
    expect((await ask()).content).toContain("Ada");
    expect(streams() - before).toBeGreaterThanOrEqual(3);
  });

  test("are declined at once where nobody can be asked", async () => {
    const tools = await lab([at("/sse")]).mcp.tools("run_1");
    expect(await use(tools, "mcp__lab__ask")).toEqual({ content: 'you said {"action":"decline"}', isError: false });
  });

  test("can be taken back by the server while the call goes on", async () => {
    const tools = await lab([at("/sse")]).mcp.tools("run_1");
    let taken = false;
    const elicit: ToolContext["elicit"] = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          taken = true;
          resolve({ action: "cancel" });
        });
      });
    expect(await use(tools, "mcp__lab__withdraw", {}, { elicit })).toMatchObject({ content: "done without you" });
    expect(taken).toBe(true);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
