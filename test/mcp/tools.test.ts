import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test } from "vitest";
import { MCP_TOOLS } from "../support/scripted-mcp-tools.ts";
import type { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, post, script, seen, send } from "../workers/support/client.ts";
import { callsOf, lab, openSessions } from "./support.ts";

function results(stream: SseReader): unknown[] {
  return stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data.output);
}

test("the servers' tools are listed with their schemas; a server that is down is left out", async () => {
  // spec: H-8 K-4
  const { tools, count } = (await (await call("/v1/tools")).json()) as { tools: { name: string }[]; count: number };
  const own = tools.filter(({ name }) => name.startsWith("mcp__"));
  expect(own).toHaveLength(MCP_TOOLS.length);
  expect(count).toBe(tools.length);
  expect(own.find(({ name }) => name === "mcp__lab__echo")).toEqual({
    name: "mcp__lab__echo",
    description: "The tool echo of the lab",
    input_schema: MCP_TOOLS[0]?.inputSchema,
  });
});

test("a tool runs after a yes, once, and its result goes on to the model; the model knows its schema", async () => {
  // spec: K-4 S-1 H-7
  const name = "mcp-allow";
  await script(name, [
    anthropicTurn({ calls: [lab("a", "echo", { text: "hi", key: name })] }),
    anthropicTurn({ text: "ok" }),
  ]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go" });
  const asked = await stream.until("permission_request");
  expect(asked.data).toMatchObject({ tool_name: "mcp__lab__echo", input: { text: "hi" } });
  // The object forgets all it had in memory; the run goes on with the tools it began with.
  await abortAllDurableObjects();
  expect((await post(`/v1/sessions/${name}/permissions/${asked.data.id}`, { allow: true })).status).toBe(200);
  await stream.toEnd();
  expect(results(stream)).toEqual([`echo: {"text":"hi","key":"${name}"}`]);
  expect(await callsOf(name)).toHaveLength(1);
  const [first] = await seen(name);
  expect(first?.body.tools.find((tool: { name: string }) => tool.name === "mcp__lab__echo").input_schema).toMatchObject(
    MCP_TOOLS[0]?.inputSchema ?? {},
  );
});

test("reading tools run without a question; calls share the server's session, which outlives the object and ends with ours", async () => {
  const name = "mcp-reads";
  await script(name, [
    anthropicTurn({ calls: [lab("1", "look", { key: name })] }),
    anthropicTurn({ calls: [lab("2", "echo", { text: "x", key: name })] }),
    anthropicTurn({ text: "ok" }),
  ]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go" });
  const asked = await stream.until("permission_request");
  expect(asked.data).toMatchObject({ tool_call_id: "2" });
  await abortAllDurableObjects();
  await post(`/v1/sessions/${name}/permissions/${asked.data.id}`, { allow: true });
  await stream.toEnd();
  const calls = await callsOf(name);
  expect(calls.map(({ tool }) => tool)).toEqual(["look", "echo"]);
  expect(calls[1]?.session).toBe(calls[0]?.session);
  expect(await openSessions()).toContain(calls[0]?.session);
  await call(`/v1/sessions/${name}`, { method: "DELETE" });
  expect(await openSessions()).not.toContain(calls[0]?.session);
});

test("input that does not fit the server's schema is not sent; the model reads why", async () => {
  const name = "mcp-input";
  await script(name, [anthropicTurn({ calls: [lab("a", "echo", { key: name })] }), anthropicTurn({ text: "ok" })]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go" });
  await stream.toEnd();
  expect(String(results(stream)[0])).toContain("invalid input for mcp__lab__echo");
  expect(await callsOf(name)).toHaveLength(0);
});

test("a call that takes too long is given up", async () => {
  const name = "mcp-slow";
  await script(name, [anthropicTurn({ calls: [lab("a", "hang", { key: name })] }), anthropicTurn({ text: "ok" })]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go", permission_rules: { allow: ["mcp__lab__*"] } });
  await stream.toEnd();
  expect(String(results(stream)[0])).toContain("was given up");
}, 20_000);

test("what goes in headers is in no event, no log, no audit", async () => {
  // spec: S-5 R-2
  const name = "mcp-secret";
  await script(name, [anthropicTurn({ calls: [lab("a", "header", { key: name })] }), anthropicTurn({ text: "ok" })]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go", permission_rules: { allow: ["mcp__lab__*"] } });
  await stream.toEnd();
  const [made] = await callsOf(name);
  expect(made?.headers).toMatchObject({ authorization: "Bearer lab-token-77aa88bb", "x-lab": "plain-header-value" });
  expect(results(stream)).toEqual(["sent with Bearer [SECRET:LAB]"]);
  const places = [
    JSON.stringify(stream.seen),
    await (await call(`/v1/sessions/${name}/messages`)).text(),
    await (await call(`/v1/audit?session_id=${name}`)).text(),
    JSON.stringify(await seen(name)),
  ];
  for (const place of places) expect(place).not.toContain("lab-token-77aa88bb");
});

test("a stateless run has the tools, too; what asks is denied", async () => {
  // spec: H-2 K-4
  const name = "mcp-stateless";
  await script(name, [
    anthropicTurn({ calls: [lab("a", "look", { key: name }), lab("b", "echo", { text: "x", key: name })] }),
    anthropicTurn({ text: "ok" }),
  ]);
  const answer = await post(
    "/v1/agent/run",
    { prompt: "go", provider: "anthropic" },
    { "x-flyto-provider-key": `key-${name}` },
  );
  const text = await answer.text();
  expect(text).toContain("event: done");
  const calls = await callsOf(name);
  expect(calls.map(({ tool }) => tool)).toEqual(["look"]);
  // Its session was its own, and is over with it.
  await expect.poll(openSessions).not.toContain(calls[0]?.session);
});
