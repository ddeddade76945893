import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import type { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, scriptAgents, seen, send } from "./support/client.ts";

const WRITE = { id: "w", name: "Bash", input: { command: "echo hi >> effects.txt" } };

function outputs(stream: SseReader): unknown[] {
  return stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data.output);
}

async function putFile(session: string, path: string, text: string): Promise<void> {
  const response = await call(`/v1/sessions/${session}/files/${path}`, { method: "PUT", body: text });
  expect(response.ok).toBe(true);
}

describe("agents", () => {
  test("a skill of the workspace runs in an agent of its own", async () => {
    // spec: K-1
    const name = "skill";
    await scriptAgents(name, {
      "use the skill": [
        anthropicTurn({ calls: [{ id: "s", name: "Skill", input: { skill: "review", args: "a.ts" } }] }),
        anthropicTurn({ text: "reviewed" }),
      ],
      "Review the file with care.": [anthropicTurn({ text: "two findings" })],
    });
    await createSession(name);
    await putFile(name, ".flyto/skills/review.md", "---\ndescription: reviews code\n---\nReview the file with care.\n");
    const stream = await send(name, name, { prompt: "use the skill" });
    await stream.toEnd();
    expect(outputs(stream)).toEqual(["two findings"]);
    const [first] = await seen(name);
    expect(JSON.stringify(first?.body.system)).toContain("reviews code");
    const inner = (await seen(name)).find(({ body }) => JSON.stringify(body.messages[0]).includes("with care"));
    expect(JSON.stringify(inner?.body.messages[0])).toContain("<arguments>\\na.ts");
  });

  test("a dreaming agent writes memory and nothing else", async () => {
    const name = "dream";
    const write = (id: string, file_path: string) => ({ id, name: "Write", input: { file_path, content: "kept" } });
    await scriptAgents(name, {
      "work, then dream": [
        anthropicTurn({ calls: [{ id: "d", name: "Dream", input: { about: "we like tests" } }] }),
        anthropicTurn({ text: "done" }),
        anthropicTurn({ text: "good" }),
      ],
      "we like tests": [
        anthropicTurn({
          calls: [
            write("a", "/workspace/a.txt"),
            write("b", "/workspace/.flyto/memory/tests.md"),
            write("d", ".flyto/memory/more.md"),
            write("e", ".flyto/memory/../../b.txt"),
            { ...WRITE, id: "c" },
          ],
        }),
        anthropicTurn({ text: "kept one note" }),
      ],
    });
    await createSession(name);
    const stream = await send(name, name, { prompt: "work, then dream" });
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect((await call(`/v1/sessions/${name}/files/a.txt`)).status).toBe(404);
    expect((await call(`/v1/sessions/${name}/files/b.txt`)).status).toBe(404);
    for (const note of ["tests", "more"])
      expect(await (await call(`/v1/sessions/${name}/files/.flyto/memory/${note}.md`)).text()).toBe("kept");
    expect((await call(`/v1/sessions/${name}/files/effects.txt`)).status).toBe(404);
  });

  test("parent and sub-agent send the same prefix, to the byte", async () => {
    // spec: K-3 R-8
    const name = "prefix";
    await scriptAgents(name, {
      "ask another": [
        anthropicTurn({ calls: [{ id: "a", name: "Agent", input: { description: "x", prompt: "the other" } }] }),
        anthropicTurn({ text: "ok" }),
      ],
      "the other": [anthropicTurn({ text: "hello" })],
    });
    await createSession(name);
    await (await send(name, name, { prompt: "ask another" })).toEnd();
    const requests = await seen(name);
    expect(requests).toHaveLength(3);
    const prefixes = requests.map(({ body }) => JSON.stringify([body.system, body.tools]));
    expect(new Set(prefixes).size).toBe(1);
    expect(requests[0]?.body.system[0].cache_control).toEqual({ type: "ephemeral" });
    expect(requests[0]?.body.system[1].cache_control).toBeUndefined();
  });

  test("stateless runs have agents, too", async () => {
    const name = "stateless-agents";
    await scriptAgents(name, {
      "ask another": [
        anthropicTurn({ calls: [{ id: "a", name: "Agent", input: { description: "x", prompt: "the other" } }] }),
        anthropicTurn({ text: "ok" }),
      ],
      "the other": [anthropicTurn({ text: "hello" })],
    });
    const body = { prompt: "ask another", provider: "anthropic" };
    const response = await post("/v1/agent/run", body, { "x-flyto-provider-key": `key-${name}` });
    const text = await response.text();
    expect(text).toContain("event: subagent_end");
    expect(text.trimEnd().split("\n\n").at(-1)).toContain("event: done");
  });
});

describe("prompts", () => {
  test("the bundle follows the model, or the request's choice", async () => {
    // spec: B-1 B-5
    const name = "bundle";
    await script(
      name,
      [1, 2, 3].map(() => anthropicTurn({ text: "ok" })),
    );
    await createSession(name);
    const systems: string[] = [];
    for (const more of [{}, { model: "qwen3-max" }, { bundle: { model_family: "glm", scenario: "programming" } }]) {
      await (await send(name, name, { prompt: "hi", ...more })).toEnd();
      systems.push(JSON.stringify((await seen(name)).at(-1)?.body.system));
    }
    expect(systems.map((system) => /[\u4e00-\u9fff]/.test(system))).toEqual([false, true, true]);
  });
});

describe("the context", () => {
  test("POST compact makes the context smaller and leaves the history whole", async () => {
    // spec: C-2
    const name = "compact";
    await script(name, [
      ...[1, 2, 3].map((n) => anthropicTurn({ text: `answer ${n} ${"long ".repeat(400)}` })),
      anthropicTurn({ text: "Goal: talk. Done: three answers." }),
      anthropicTurn({ text: "after" }),
    ]);
    await createSession(name);
    for (const prompt of ["one", "two", "three"]) await (await send(name, name, { prompt })).toEnd();
    const headers = { "x-flyto-provider-key": `key-${name}` };
    // The deployment's default provider is another one: the conversation does not go there.
    const response = await post(`/v1/sessions/${name}/compact`, {}, headers);
    const result = (await response.json()) as { compacted: boolean; tokens_before: number; tokens_after: number };
    expect([response.status, result.compacted]).toEqual([200, true]);
    expect(result.tokens_after).toBeLessThan(result.tokens_before);
    await (await send(name, name, { prompt: "four" })).toEnd();
    const last = (await seen(name)).at(-1);
    expect(JSON.stringify(last?.body.messages[0])).toContain("Goal: talk.");
    expect(JSON.stringify(last?.body.messages)).not.toContain("answer 1 long");
    expect(await (await call(`/v1/sessions/${name}`)).json()).toMatchObject({ message_count: 8 });
    expect(await (await call(`/v1/sessions/${name}/stats`)).json()).toMatchObject({ runs: 4, messages: 8 });
    expect((await post("/v1/sessions/nobody/compact", {})).status).toBe(404);
  });
});

describe("sessions at work", () => {
  test("a session is forked from under its run, at the last whole turn", async () => {
    // spec: H-20
    const name = "fork-live";
    await script(name, [
      anthropicTurn({ text: "first" }),
      anthropicTurn({ calls: [WRITE] }),
      anthropicTurn({ text: "ok" }),
    ]);
    await createSession(name);
    await putFile(name, "a.txt", "before");
    await (await send(name, name, { prompt: "one" })).toEnd();
    const stream = await send(name, name, { prompt: "two" });
    const asked = await stream.until("permission_request");
    expect((await post(`/v1/sessions/${name}/fork`, { session_id: "fork-live-b" })).status).toBe(201);
    await post(`/v1/sessions/${name}/permissions/${String(asked.data.id)}`, { allow: true });
    await stream.toEnd();
    expect(await (await call("/v1/sessions/fork-live-b")).json()).toMatchObject({ message_count: 2 });
    expect(await (await call("/v1/sessions/fork-live-b/files/a.txt")).text()).toBe("before");
    expect((await call("/v1/sessions/fork-live-b/files/effects.txt")).status).toBe(404);
    expect(await (await call("/v1/sessions/fork-live-b/permissions")).json()).toEqual({ data: [] });
  });

  test("a message that waits too long behind a run is given up with an error, and the run goes on", async () => {
    const name = "queue-late";
    await script(name, [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const running = await send(name, name, { prompt: "one" });
    const asked = await running.until("permission_request");
    const waiting = await send(name, name, { prompt: "two", on_busy: "queue" });
    await waiting.until("queued");
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      // The question's own time is over first; the test is about the message.
      vi.setSystemTime(Date.now() + 3_601_000);
      await runDurableObjectAlarm(objectOf(name));
      await waiting.toEnd();
      expect(waiting.seen.at(-1)).toMatchObject({ type: "error", data: { category: "timeout" } });
    } finally {
      vi.useRealTimers();
    }
    await running.toEnd();
    expect(running.seen.at(-1)?.type).toBe("done");
    expect(asked.type).toBe("permission_request");
    expect(await seen(name)).toHaveLength(2);
  });
});
