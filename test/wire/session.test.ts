import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { EngineEvent } from "../../src/contract/events.ts";
import { anthropicTurn, chatTurn } from "../support/wires.ts";
import { Wire } from "./support/client.ts";

const BASH = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt && cat out.txt" } };
const write = (id: string, file_path: string, content: string) => ({
  id,
  name: "Write",
  input: { file_path, content },
});
const read = (id: string, file_path: string) => ({ id, name: "Read", input: { file_path } });

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.start({ QUEUE_TIMEOUT_SECONDS: "1" });
});
afterAll(() => wire?.close());

describe.each([
  ["anthropic", anthropicTurn],
  ["openai", chatTurn],
])("the permission flow on the %s wire", (provider, turn) => {
  test("asks, waits, runs the tool after the answer and goes on", async () => {
    // spec: H-6 H-7 E-5 E-6 E-8 E-9 E-11 T-1
    const name = `flow-${provider}`;
    await wire.session(name, [turn({ text: "I will run it.", calls: [BASH] }), turn({ text: "It printed hi." })]);
    const stream = await wire.send(name, { prompt: "run it", provider });
    const asked = await stream.until("permission_request");
    expect(stream.types()).toEqual(["turn_start", "text_delta", "text", "tool_use", "permission_request"]);
    expect(asked.data).toMatchObject({ tool_name: "Bash", tool_call_id: "toolu_1", input: BASH.input });
    expect(wire.upstream.seen(name)).toHaveLength(1);
    expect((await wire.call(`/v1/sessions/${name}/files/out.txt`)).status).toBe(404);
    const open = await wire.json<{ data: { id: string }[] }>(`/v1/sessions/${name}/permissions`);
    expect(open.data.map(({ id }) => id)).toEqual([asked.data.id]);

    const reply = await wire.answer(name, asked.data.id, true);
    expect([reply.status, await reply.json()]).toEqual([200, { status: "ok" }]);
    await stream.toEnd();
    const rest = stream.types().slice(5);
    expect(rest.filter((type) => type !== "tool_progress")).toEqual([
      "tool_result",
      "turn_end",
      "turn_start",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);
    const result = stream.seen.find(({ type }) => type === "tool_result");
    expect(result?.data).toMatchObject({ id: "toolu_1", is_error: false });
    expect(String(result?.data.output)).toContain("hi");
    for (const { type, data } of stream.seen) expect(() => EngineEvent.parse({ type, ...data })).not.toThrow();
    const second = wire.upstream.seen(name)[1];
    expect(JSON.stringify(second?.body.messages.at(-1))).toContain("toolu_1");
    expect(wire.upstream.left(name)).toBe(0);
    expect((await wire.answer(name, asked.data.id, false)).status).toBe(409);
    expect((await wire.answer(name, "perm_unknown00", true)).status).toBe(404);
    expect(await (await wire.call(`/v1/sessions/${name}/files/out.txt`)).text()).toBe("hi\n");
  });

  test("tells the model of a denial and does not run the tool", async () => {
    // spec: H-7 T-1
    const name = `deny-${provider}`;
    await wire.session(name, [turn({ calls: [BASH] }), turn({ text: "ok" })]);
    const stream = await wire.send(name, { prompt: "run it", provider });
    const asked = await stream.until("permission_request");
    expect((await wire.answer(name, asked.data.id, false, "not on a Tuesday")).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.find(({ type }) => type === "tool_result")?.data.is_error).toBe(true);
    expect(JSON.stringify(wire.upstream.seen(name)[1]?.body.messages)).toContain("not on a Tuesday");
    expect((await wire.call(`/v1/sessions/${name}/files/out.txt`)).status).toBe(404);
  });
});

describe("turns and tools", () => {
  test("three tool turns follow each other, each seeing what the last one did", async () => {
    // spec: H-6 E-6 E-10
    await wire.session("turns", [
      anthropicTurn({ calls: [write("w", "a.txt", "alpha\n")] }),
      anthropicTurn({
        calls: [{ id: "e", name: "Edit", input: { file_path: "a.txt", old_string: "alpha", new_string: "beta" } }],
      }),
      anthropicTurn({ calls: [read("r", "a.txt")] }),
      anthropicTurn({ text: "done" }),
    ]);
    const stream = await wire.send("turns", { prompt: "go" });
    await stream.toEnd();
    const results = stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data);
    expect(results.map(({ id, is_error }) => [id, is_error])).toEqual([
      ["w", false],
      ["e", false],
      ["r", false],
    ]);
    expect(String(results[2]?.output)).toContain("beta");
    expect(stream.seen.at(-1)?.data).toMatchObject({ stop_reason: "end_turn", turn_count: 4, total_tokens: 60 });
    expect(await (await wire.call("/v1/sessions/turns/files/a.txt")).text()).toBe("beta\n");
    expect((await wire.history("turns")).map(({ role }) => role)).toEqual(
      Array.from({ length: 4 }, () => ["user", "assistant"]).flat(),
    );
  });

  test("read-only calls of one turn all run and answer the model in the order of the calls", async () => {
    // spec: T-3
    await wire.session("side", [
      anthropicTurn({ calls: [write("w1", "one.txt", "1111\n")] }),
      anthropicTurn({ calls: [read("r1", "one.txt"), read("r2", "none.txt"), read("r3", "one.txt")] }),
      anthropicTurn({ text: "read" }),
    ]);
    const stream = await wire.send("side", { prompt: "go" });
    await stream.toEnd();
    const results = stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data);
    const failed = Object.fromEntries(results.map(({ id, is_error }) => [id, is_error]));
    expect(failed).toEqual({ w1: false, r1: false, r2: true, r3: false });
    const sent = wire.upstream.seen("side")[2]?.body.messages.at(-1).content;
    expect(sent.map((block: { tool_use_id: string }) => block.tool_use_id)).toEqual(["r1", "r2", "r3"]);
  });

  test.each([
    ["anthropic", anthropicTurn({ text: "one two", stop: "stop_sequence" }), ["STOP"], "one two"],
    // Reasoning models refuse the field; the engine finds the sequence by itself.
    ["openai", chatTurn({ text: "one two STOP three" }), undefined, "one two "],
  ])("a stop sequence ends the answer on the %s wire", async (provider, reply, sent, text) => {
    // spec: H-2 E-11
    const name = `stop-${provider}`;
    await wire.session(name, [reply]);
    const stream = await wire.send(name, { prompt: "count", provider, stop_sequences: ["STOP"] });
    await stream.toEnd();
    const body = wire.upstream.seen(name)[0]?.body;
    expect(body.stop_sequences ?? body.stop).toEqual(sent);
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "stop_sequence", turn_count: 1 } });
    expect(stream.seen.find(({ type }) => type === "text")?.data.text).toBe(text);
  });

  test("max_turns ends the run after so many turns", async () => {
    // spec: H-2 E-11
    await wire.session("limit", [
      anthropicTurn({ calls: [read("r1", "a")] }),
      anthropicTurn({ calls: [read("r2", "b")] }),
    ]);
    const stream = await wire.send("limit", { prompt: "go", max_turns: 2 });
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "max_turns", turn_count: 2 } });
    expect(wire.upstream.left("limit")).toBe(0);
  });
});

describe("a model server that fails", () => {
  test("a refused key ends the run with an error that does not show the key", async () => {
    // spec: E-12 R-2
    const message = "invalid x-api-key: key-refused";
    const body = JSON.stringify({ type: "error", error: { type: "authentication_error", message } });
    await wire.session("refused", [{ status: 401, headers: { "content-type": "application/json" }, chunks: [body] }]);
    const stream = await wire.send("refused", { prompt: "hi" });
    await stream.toEnd();
    expect(stream.types()).toEqual(["turn_start", "error"]);
    expect(stream.seen.at(-1)?.data).toMatchObject({ category: "auth", retryable: false });
    expect(JSON.stringify(stream.seen)).not.toContain("key-refused");
    expect(wire.output).not.toContain("key-refused");
  });

  test("a stream that is cut in the middle is asked for again, and the history has one answer", async () => {
    // spec: E-17 T-5
    const { chunks } = anthropicTurn({ text: "half of it" });
    await wire.session("cut", [
      { chunks: chunks.slice(0, 3), everyMs: 50, end: "abort" },
      anthropicTurn({ text: "whole" }),
    ]);
    const stream = await wire.send("cut", { prompt: "hi" });
    await stream.toEnd();
    const types = stream.types();
    const restart = types.indexOf("turn_restart");
    expect(types.slice(0, 2)).toEqual(["turn_start", "text_delta"]);
    expect(types.slice(restart)).toEqual(["turn_restart", "text_delta", "text", "turn_end", "done"]);
    expect(JSON.stringify(await wire.history("cut"))).not.toContain("half");
  });
});

describe("a client that goes away", () => {
  test("does not stop a session's run: the history has the whole answer", async () => {
    // spec: E-30 T-2
    await wire.session("away", [anthropicTurn({ text: "a long and whole answer" }, { everyMs: 100 })]);
    const client = new AbortController();
    const stream = await wire.send("away", { prompt: "tell" }, client.signal);
    await stream.until("text_delta");
    client.abort();
    const history = await wire.historyEndsWith("away", "a long and whole answer");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(wire.upstream.seen("away")).toHaveLength(1);
  });

  test("stops a stateless run: the model call is given up", async () => {
    // spec: H-2
    const { chunks } = anthropicTurn({ text: "a long story" });
    const replies = [{ chunks: chunks.slice(0, 3), end: "stall" as const }];
    const client = new AbortController();
    const stream = await wire.run("leave", replies, { prompt: "tell" }, client.signal);
    await stream.until("text_delta");
    expect(wire.upstream.seen("leave")[0]?.aborted).toBe(false);
    client.abort();
    await vi.waitFor(() => expect(wire.upstream.seen("leave")[0]?.aborted).toBe(true), { timeout: 10_000 });
    expect(wire.upstream.seen("leave")).toHaveLength(1);
  });

  test("keepalive comments fill the silence of a parked question", async () => {
    // spec: E-20
    await wire.session("quiet", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "ok" })]);
    const stream = await wire.send("quiet", { prompt: "run" });
    const asked = await stream.until("permission_request");
    const rest = stream.toEnd();
    await vi.waitFor(() => expect(stream.comments).toBeGreaterThanOrEqual(2), { timeout: 10_000 });
    await wire.answer("quiet", asked.data.id, true);
    await rest;
    expect(stream.seen.at(-1)?.type).toBe("done");
  });
});

describe("a stateless run", () => {
  test("denies a call that needs a person, tells the model why, and makes no session", async () => {
    // spec: H-2
    const replies = [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "I may not." })];
    const stream = await wire.run("alone", replies, { prompt: "run it" });
    await stream.toEnd();
    expect(stream.types()).not.toContain("permission_request");
    const result = stream.seen.find(({ type }) => type === "tool_result");
    expect(result?.data).toMatchObject({ id: "toolu_1", is_error: true });
    const told = wire.upstream.seen("alone")[1]?.body.messages.at(-1).content[0];
    expect(told).toMatchObject({ type: "tool_result", tool_use_id: "toolu_1", is_error: true });
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "end_turn", turn_count: 2 } });
  });
});

test("a message that waits behind an open question is given up in time", async () => {
  // spec: H-6
  const name = "waits";
  const write = { id: "w", name: "Bash", input: { command: "echo hi > out.txt" } };
  await wire.session(name, [anthropicTurn({ calls: [write] }), anthropicTurn({ text: "ok" })]);
  const first = await wire.send(name, { prompt: "go" });
  const question = await first.until("permission_request");
  const second = await wire.send(name, { prompt: "and then", on_busy: "queue" });
  await second.toEnd();
  expect(second.seen.at(-1)).toMatchObject({ type: "error", data: { category: "timeout" } });
  await wire.post(`/v1/sessions/${name}/permissions/${question.data.id}`, { allow: true });
  await first.toEnd();
  expect(first.seen.at(-1)?.type).toBe("done");
});
