import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { EngineEvent } from "../../src/contract/events.ts";
import { SseReader } from "../support/sse-client.ts";
import { anthropicTurn, chatTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, seen, send } from "./support/client.ts";

const BASH = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt && cat out.txt" } };

afterEach(() => {
  vi.useRealTimers();
});

async function answer(session: string, id: unknown, allow: boolean): Promise<Response> {
  return post(`/v1/sessions/${session}/permissions/${String(id)}`, { allow });
}

describe("a run in a session", () => {
  test("streams an answer with rising ids and keeps it in the history", async () => {
    // spec: H-6 E-1 E-2 E-9 E-11 E-30
    await script("plain", [anthropicTurn({ thinking: "hm, let me see", text: "Hello there." })]);
    await createSession("plain");
    const stream = await send("plain", "plain", { prompt: "hi" });
    await stream.toEnd();
    expect(stream.types()).toEqual([
      "turn_start",
      "thinking_delta",
      "thinking",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);
    const ids = stream.seen.map((event) => event.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    for (const { type, data } of stream.seen) expect(() => EngineEvent.parse({ type, ...data })).not.toThrow();
    const history = (await (await call("/v1/sessions/plain/messages")).json()) as {
      data: { role: string; content: { text?: string }[] }[];
    };
    expect(history.data.map((message) => message.role)).toEqual(["assistant", "user"]);
    expect(history.data[0]?.content.at(-1)?.text).toBe("Hello there.");
    expect(await (await call("/v1/sessions/plain")).json()).toMatchObject({ session_id: "plain", message_count: 2 });
  });

  test("carries the history along to the next message", async () => {
    // spec: H-6
    await script("two", [anthropicTurn({ text: "one" }), anthropicTurn({ text: "two" })]);
    await createSession("two");
    await (await send("two", "two", { prompt: "first" })).toEnd();
    await evictDurableObject(objectOf("two"));
    await (await send("two", "two", { prompt: "second" })).toEnd();
    const [, second] = await seen("two");
    const texts = second?.body.messages.map((message: { content: { text: string }[] }) => message.content.at(-1)?.text);
    expect(texts).toEqual(["first", "one", "second"]);
  });

  test.each([
    ["anthropic", anthropicTurn],
    ["openai", chatTurn],
  ])("follows the permission flow step by step on the %s wire", async (provider, turn) => {
    // spec: H-7 E-5 E-6 E-8 T-1
    const name = `flow-${provider}`;
    await script(name, [turn({ text: "I will run it.", calls: [BASH] }), turn({ text: "It printed hi." })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "run it", provider });
    const asked = await stream.until("permission_request");
    expect(asked.data).toMatchObject({ tool_name: "Bash", tool_call_id: "toolu_1", input: BASH.input });
    const open = (await (await call(`/v1/sessions/${name}/permissions`)).json()) as { data: { id: string }[] };
    expect(JSON.stringify(open)).toContain(String(asked.data.id));
    const reply = await answer(name, asked.data.id, true);
    expect([reply.status, await reply.json()]).toEqual([200, { status: "ok" }]);
    await stream.toEnd();
    const result = stream.seen.find((event) => event.type === "tool_result");
    expect(result?.data).toMatchObject({ id: "toolu_1", is_error: false });
    expect(String(result?.data.output)).toContain("hi");
    expect(stream.types().slice(-5)).toEqual(["turn_start", "text_delta", "text", "turn_end", "done"]);
    expect((await answer(name, asked.data.id, true)).status).toBe(409);
    expect((await answer(name, "perm_unknown00", true)).status).toBe(404);
  });

  test("runs three tool turns and shows a file in the next one", async () => {
    await script("turns", [
      anthropicTurn({ calls: [{ id: "w", name: "Write", input: { file_path: "a.txt", content: "alpha\n" } }] }),
      anthropicTurn({ calls: [{ id: "r", name: "Read", input: { file_path: "a.txt" } }] }),
      anthropicTurn({
        calls: [
          { id: "g", name: "Glob", input: { pattern: "*.txt" } },
          { id: "h", name: "Grep", input: { pattern: "alpha" } },
        ],
      }),
      anthropicTurn({ text: "done" }),
    ]);
    await createSession("turns");
    const stream = await send("turns", "turns", { prompt: "go" });
    await stream.toEnd();
    const results = stream.seen.filter((event) => event.type === "tool_result").map((event) => event.data);
    expect(results.map((data) => data.is_error)).toEqual([false, false, false, false]);
    expect(String(results[1]?.output)).toContain("alpha");
    expect(
      results
        .slice(2)
        .map((data) => String(data.output))
        .join(),
    ).toContain("a.txt");
    expect(stream.seen.at(-1)?.data).toMatchObject({ stop_reason: "end_turn", turn_count: 4 });
    const file = await call("/v1/sessions/turns/files/a.txt");
    expect(await file.text()).toBe("alpha\n");
  });

  test("ends with an error that says so, without the key, when the provider refuses the key", async () => {
    // spec: E-12 R-2
    const refused = {
      status: 401,
      headers: { "content-type": "application/json" },
      chunks: [
        JSON.stringify({
          type: "error",
          error: { type: "authentication_error", message: "invalid x-api-key key-badkey" },
        }),
      ],
    };
    await script("badkey", [refused]);
    await createSession("badkey");
    const stream = await send("badkey", "badkey", { prompt: "hi" });
    await stream.toEnd();
    expect(stream.types()).toEqual(["turn_start", "error"]);
    expect(stream.seen.at(-1)?.data).toMatchObject({ category: "auth", retryable: false });
    expect(stream.seen.at(-1)?.data.hint).toContain("ANTHROPIC_API_KEY");
    expect(JSON.stringify(stream.seen)).not.toContain("key-badkey");
  });

  test("takes back a turn whose stream was cut, and the replay agrees", async () => {
    // spec: E-17 T-5
    const cut = anthropicTurn({ text: "half of it" });
    await script("cut", [
      { ...cut, chunks: cut.chunks.slice(0, 3), everyMs: 20, end: "abort" },
      anthropicTurn({ text: "whole" }),
    ]);
    await createSession("cut");
    const stream = await send("cut", "cut", { prompt: "hi" });
    await stream.toEnd();
    const types = stream.types();
    expect(types).toContain("turn_restart");
    expect(types.slice(types.indexOf("turn_restart"))).toEqual([
      "turn_restart",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);
  });
});

describe("a parked permission request", () => {
  test("survives the object being unloaded; the open stream gets the result", async () => {
    // spec: T-4 E-30
    await script("evict", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "fine" })]);
    await createSession("evict");
    const stream = await send("evict", "evict", { prompt: "run" });
    const asked = await stream.until("permission_request");
    await evictDurableObject(objectOf("evict"));
    expect((await answer("evict", asked.data.id, true)).status).toBe(200);
    await stream.toEnd();
    expect(stream.types().filter((type) => type !== "tool_progress")).toEqual([
      "turn_start",
      "tool_use",
      "permission_request",
      "tool_result",
      "turn_end",
      "turn_start",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);
    expect(stream.seen.find((event) => event.type === "tool_result")?.data.is_error).toBe(false);
  });

  test("survives a crash of the object: the stream goes on without a gap", async () => {
    await script("crash", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "fine" })]);
    await createSession("crash");
    const stream = await send("crash", "crash", { prompt: "run" });
    const asked = await stream.until("permission_request");
    await abortAllDurableObjects();
    expect((await answer("crash", asked.data.id, true)).status).toBe(200);
    await stream.toEnd();
    const ids = stream.seen.map((event) => event.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(stream.types().slice(-3)).toEqual(["text", "turn_end", "done"]);
  });

  test("is denied by the alarm when nobody answers for five minutes", async () => {
    // spec: T-4
    await script("late", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "a pity" })]);
    await createSession("late");
    const stream = await send("late", "late", { prompt: "run" });
    const asked = await stream.until("permission_request");
    const expires = Date.parse(String(asked.data.expires_at));
    expect(Math.round((expires - Date.now()) / 60_000)).toBe(5);
    await evictDurableObject(objectOf("late"));
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(expires + 1);
    expect(await runDurableObjectAlarm(objectOf("late"))).toBe(true);
    await stream.toEnd();
    const result = stream.seen.find((event) => event.type === "tool_result");
    expect(result?.data).toMatchObject({ is_error: true });
    expect(String(result?.data.output)).toContain("nobody answered");
    expect((await answer("late", asked.data.id, true)).status).toBe(404);
    expect((await seen("late"))[1]?.body.messages.at(-1).content[0]).toMatchObject({
      type: "tool_result",
      is_error: true,
    });
  });

  test("a denial reaches the model with its reason, and the tool does not run", async () => {
    await script("deny", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "ok" })]);
    await createSession("deny");
    const stream = await send("deny", "deny", { prompt: "run" });
    const asked = await stream.until("permission_request");
    await post(`/v1/sessions/deny/permissions/${String(asked.data.id)}`, { allow: false, reason: "not on a Tuesday" });
    await stream.toEnd();
    expect(JSON.stringify((await seen("deny"))[1]?.body.messages)).toContain("not on a Tuesday");
    expect((await call("/v1/sessions/deny/files/out.txt")).status).toBe(404);
  });
});

describe("busy, cancel, delete", () => {
  test("a second message while a run is going is refused, or queued when asked to", async () => {
    // spec: H-6
    await script("busy", [
      anthropicTurn({ calls: [BASH] }),
      anthropicTurn({ text: "first" }),
      anthropicTurn({ text: "second" }),
    ]);
    await createSession("busy");
    const first = await send("busy", "busy", { prompt: "one" });
    const asked = await first.until("permission_request");
    const refused = await post(
      "/v1/sessions/busy/messages",
      { prompt: "two", provider: "anthropic" },
      { "x-flyto-provider-key": "key-busy" },
    );
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { type: "conflict_error" } }]);
    const second = await send("busy", "busy", { prompt: "two", on_busy: "queue" });
    expect((await second.next())?.data).toMatchObject({ position: 1 });
    await answer("busy", asked.data.id, true);
    await first.toEnd();
    await second.toEnd();
    expect(first.seen.at(-1)?.type).toBe("done");
    expect(second.types()).toEqual(["queued", "turn_start", "text_delta", "text", "turn_end", "done"]);
    expect(new Set(first.seen.map((e) => e.data.run_id)).size).toBe(1);
  });

  test("a closed block is shown, and can be replayed, though its reply goes on", async () => {
    // spec: E-2 E-30
    const whole = anthropicTurn({ text: "so far" });
    const closed = whole.chunks.findIndex((chunk) => chunk.includes("content_block_stop")) + 1;
    await script("closed", [{ chunks: whole.chunks.slice(0, closed), end: "stall" }]);
    await createSession("closed");
    const stream = await send("closed", "closed", { prompt: "go" });
    await stream.until("text");
    const again = new SseReader(await call("/v1/sessions/closed/events?after=0"));
    await again.until("text");
    expect(again.seen.at(-1)?.id).toBe(stream.seen.at(-1)?.id);
    await post("/v1/sessions/closed/cancel", {});
    await stream.toEnd();
    expect(stream.types()).toEqual(["turn_start", "text_delta", "text", "done"]);
  });

  test("cancel stops the model call at once and ends the stream with done cancelled", async () => {
    // spec: E-11 T-1
    await script("cancel", [anthropicTurn({ text: "a long story" }, { end: "stall" })]);
    const stall = anthropicTurn({ text: "a long story" });
    const half = { ...stall, chunks: stall.chunks.slice(0, 3), end: "stall" as const };
    await script("cancel", [half, anthropicTurn({ text: "as you wish" })]);
    await createSession("cancel");
    const stream = await send("cancel", "cancel", { prompt: "tell" });
    await stream.until("text_delta");
    const cancelled = await call("/v1/sessions/cancel/cancel", { method: "POST" });
    expect([cancelled.status, await cancelled.json()]).toMatchObject([200, {}]);
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "cancelled" } });
    expect(stream.seen.at(-1)?.data.total_input_tokens).toBeGreaterThan(0);
    await vi.waitFor(async () => expect((await seen("cancel"))[0]?.aborted).toBe(true));
    // What was read belongs to the conversation.
    const shown = stream.seen.filter(({ type }) => type === "text_delta").map(({ data }) => data.text);
    await (await send("cancel", "cancel", { prompt: "shorter, please" })).toEnd();
    const messages = (await seen("cancel"))[1]?.body.messages as { role: string; content: { text: string }[] }[];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(messages[1]?.content).toEqual([{ type: "text", text: shown.join("") }]);
  });

  test("cancel answers an open question and keeps the history well paired", async () => {
    await script("cancel2", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "next" })]);
    await createSession("cancel2");
    const stream = await send("cancel2", "cancel2", { prompt: "run" });
    await stream.until("permission_request");
    await call("/v1/sessions/cancel2/cancel", { method: "POST" });
    await stream.toEnd();
    expect(stream.types().slice(-2)).toEqual(["tool_result", "done"]);
    await (await send("cancel2", "cancel2", { prompt: "again" })).toEnd();
    const messages = (await seen("cancel2"))[1]?.body.messages;
    expect(JSON.stringify(messages)).toContain('"tool_use_id":"toolu_1"');
  });

  test("delete ends the running stream, frees everything, and the id can be used again", async () => {
    // spec: H-5
    await script("gone", [anthropicTurn({ calls: [BASH] })]);
    await createSession("gone");
    const stream = await send("gone", "gone", { prompt: "run" });
    await stream.until("permission_request");
    const queued = await send("gone", "gone", { prompt: "later", on_busy: "queue" });
    const deleted = await call("/v1/sessions/gone", { method: "DELETE" });
    expect([deleted.status, await deleted.json()]).toEqual([200, { status: "deleted" }]);
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "cancelled" } });
    await queued.toEnd();
    expect(queued.types()).toEqual(["queued", "error"]);
    expect((await call("/v1/sessions/gone")).status).toBe(404);
    expect((await call("/v1/sessions/gone", { method: "DELETE" })).status).toBe(404);
    await createSession("gone");
    expect(await (await call("/v1/sessions/gone")).json()).toMatchObject({ message_count: 0 });
  });
});

describe("what is stored", () => {
  test("an audit entry is in D1 for what ran and for what was denied", async () => {
    // spec: S-4
    await script("audit", [
      anthropicTurn({ calls: [BASH, { ...BASH, id: "toolu_2" }] }),
      anthropicTurn({ text: "ok" }),
    ]);
    await createSession("audit");
    const stream = await send("audit", "audit", { prompt: "run", actor_id: "anna", metadata: { ticket: "7" } });
    await answer("audit", (await stream.until("permission_request")).data.id, true);
    await answer("audit", (await stream.until("permission_request")).data.id, false);
    await stream.toEnd();
    await vi.waitFor(async () => {
      const { results } = await env.DB.prepare(
        "SELECT * FROM audit WHERE tenant = 'default' AND session_id = 'audit' ORDER BY seq",
      ).all();
      // The answer, then the act it allowed; the answer, then the act it kept from happening.
      expect(results).toMatchObject([
        { outcome: "allowed", reason: "allowed by the user", turn_number: 1 },
        {
          outcome: "allowed",
          tool_name: "Bash",
          operation: "execute",
          actor_id: "anna",
          extra: '{"ticket":"7"}',
          turn_number: 1,
        },
        { outcome: "blocked", reason: "denied by the user" },
        { outcome: "blocked", tool_name: "Bash" },
      ]);
    }, 5000);
  });

  test("a refused request stores nothing, and a look-up of no session writes nothing", async () => {
    expect((await post("/v1/sessions/nobody/messages", { prompt: "hi", provider: "demo" })).status).toBe(404);
    // A key goes to the provider it was sent for, or nowhere.
    const header = { "x-flyto-provider": "openai", "x-flyto-provider-key": "key-other" };
    const other = await post("/v1/agent/run", { prompt: "hi", provider: "anthropic" }, header);
    expect([other.status, await other.text()]).toEqual([400, expect.stringContaining("provider: ")]);
    await runInDurableObject(objectOf("nobody"), (_, state) => {
      expect(
        state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
      ).toEqual([]);
    });
    await createSession("strict");
    for (const body of [{}, { prompt: "" }, { prompt: "x", max_turns: 0 }, { prompt: "x", provider: "nope" }]) {
      expect((await post("/v1/sessions/strict/messages", body)).status).toBe(400);
    }
    expect(await (await call("/v1/sessions/strict")).json()).toMatchObject({ message_count: 0 });
  });

  test("a request's own key is stored sealed and wiped at the run's end", async () => {
    // spec: R-2
    await script("sealed-secret-name", [anthropicTurn({ calls: [BASH] }), anthropicTurn({ text: "ok" })]);
    await createSession("sealed");
    const stream = await send("sealed", "sealed-secret-name", { prompt: "run" });
    const asked = await stream.until("permission_request");
    const dump = () =>
      runInDurableObject(objectOf("sealed"), (_, { storage }) => {
        const tables = storage.sql
          .exec<{ name: string }>(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
          )
          .toArray();
        return JSON.stringify(tables.map(({ name }) => storage.sql.exec(`SELECT * FROM ${name}`).toArray()));
      });
    const parked = await dump();
    expect(parked).toContain("v1.");
    expect(parked).not.toContain("key-sealed-secret-name");
    await abortAllDurableObjects();
    await answer("sealed", asked.data.id, true);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(await dump()).not.toContain("v1.");
  });
});
