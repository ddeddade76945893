import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, post, script, scriptAgents, send } from "../workers/support/client.ts";
import { historyOf, unpaired } from "../workers/support/history.ts";
import { callsOf, lab } from "./support.ts";

const ALLOW = { permission_rules: { allow: ["mcp__lab__*"] } };

function answer(session: string, id: unknown, body: Record<string, unknown>, route = "decisions"): Promise<Response> {
  return post(`/v1/sessions/${session}/${route}/${String(id)}`, body);
}

function results(stream: SseReader): unknown[] {
  return stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data.output);
}

/** A session whose run has come to the question of a call of this tool. */
async function asked(name: string, tool = "ask", body: Record<string, unknown> = {}) {
  await script(name, [anthropicTurn({ calls: [lab("a", tool, { key: name })] }), anthropicTurn({ text: "ok" })]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go", ...ALLOW, ...body });
  return { stream, question: (await stream.until("elicitation")).data };
}

async function open(session: string): Promise<Record<string, unknown>[]> {
  const response = await call(`/v1/sessions/${session}/permissions`);
  return ((await response.json()) as { data: Record<string, unknown>[] }).data;
}

async function audited(session: string): Promise<Record<string, unknown>[]> {
  await call(`/v1/audit/verify?session_id=${session}`);
  const { data } = (await (await call(`/v1/audit?session_id=${session}`)).json()) as {
    data: Record<string, unknown>[];
  };
  return data.filter(({ resource }) => String(resource).startsWith("lab asks"));
}

describe("a server's question", () => {
  // spec: D-3 D-5 E-16 H-20
  test("is shown with its fields, listed, and answered with values that fit; once", async () => {
    const name = "elicit-accept";
    const { stream, question } = await asked(name);
    expect(question).toMatchObject({
      ...{ server: "lab", message: "Who are you?", tool_call_id: "a", expires_at: expect.any(String) },
      fields: [{ name: "name", type: "string", required: true }, { name: "age" }, { name: "colour" }, { name: "sure" }],
    });
    expect(await open(name)).toMatchObject([
      { id: question.id, kind: "elicitation", server: "lab", tool_name: "mcp__lab__ask", fields: question.fields },
    ]);
    for (const [body, message] of [
      [{ action: "accept", content: {} }, "content.name: is required"],
      [{ allow: true }, "content.name: is required"],
      [{ action: "accept", content: { name: "Ada", age: "old" } }, "content.age: must be a number"],
      [{ action: "accept", content: { name: "Ada", extra: 1 } }, "content.extra: is not asked for"],
      [{ action: "accept", content: { name: { deep: true } } }, "content.name"],
      [{ action: "perhaps" }, "action"],
      [{ allow: false, action: "accept", content: { name: "Ada" } }, "action: says something else than allow"],
      [{ allow: true, updated_input: {} }, "updated_input is not for an elicitation"],
      [{}, "allow is required"],
    ] as const) {
      const refused = await answer(name, question.id, body);
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: { type: "invalid_request_error", message: expect.stringContaining(message) } },
      ]);
    }
    const body = { action: "accept", content: { name: "Ada", age: 36 } };
    expect((await answer(name, question.id, body)).status).toBe(200);
    expect((await answer(name, question.id, body)).status).toBe(409);
    await stream.toEnd();
    expect(results(stream)).toEqual(['you said {"action":"accept","content":{"name":"Ada","age":36}}']);
    expect((await callsOf(name))[0]?.answers).toEqual([{ action: "accept", content: { name: "Ada", age: 36 } }]);
    expect(await open(name)).toEqual([]);
    expect(await audited(name)).toMatchObject([
      {
        ...{ operation: "decide", outcome: "allowed" },
        reason: "answered by the user",
        extra: { decision_id: question.id, input_digest: expect.any(String) },
      },
    ]);
  });

  test("answered twice at the same moment has one answer", async () => {
    const name = "elicit-twice";
    const { stream, question } = await asked(name);
    const bodies = ["Ada", "Bob"].map((who) => ({ action: "accept", content: { name: who } }));
    const statuses = await Promise.all(bodies.map(async (body) => (await answer(name, question.id, body)).status));
    expect(statuses.sort()).toEqual([200, 409]);
    await stream.toEnd();
    expect((await callsOf(name))[0]?.answers).toHaveLength(1);
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ["decline", { action: "decline" }, "decline", "declined by the user"],
    ["cancel", { action: "cancel" }, "cancel", "cancelled by the user"],
    ["no", { allow: false, reason: "none of your business" }, "decline", "none of your business"],
  ])("may be turned down: %s", async (what, body, action, reason) => {
    const name = `elicit-${what}`;
    const { stream, question } = await asked(name);
    expect((await answer(name, question.id, body, "permissions")).status).toBe(200);
    await stream.toEnd();
    expect(results(stream)).toEqual([`you said {"action":"${action}"}`]);
    expect(await audited(name)).toMatchObject([{ outcome: "blocked", reason }]);
  });

  test("is cancelled when its time is over, longer than the tool itself may take; a late answer is told so", async () => {
    const name = "elicit-late";
    const { stream, question } = await asked(name);
    await stream.toEnd();
    expect(results(stream)).toEqual(['you said {"action":"cancel"}']);
    expect((await answer(name, question.id, { action: "decline" })).status).toBe(404);
    expect(await audited(name)).toMatchObject([{ outcome: "blocked", reason: "nobody answered the question in time" }]);
  }, 20_000);

  test("comes over the session's own stream as well", async () => {
    const name = "elicit-aside";
    const { stream, question } = await asked(name, "ask_aside");
    await answer(name, question.id, { action: "accept", content: { name: "Ada" } });
    await stream.toEnd();
    expect(results(stream)).toEqual(['you said {"action":"accept","content":{"name":"Ada"}}']);
  });

  test("ends with the run that is cancelled", async () => {
    const name = "elicit-run-cancelled";
    const { stream, question } = await asked(name);
    expect((await post(`/v1/sessions/${name}/cancel`, {})).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.data.stop_reason).toBe("cancelled");
    expect(await audited(name)).toMatchObject([{ operation: "decide", outcome: "blocked" }]);
    expect((await answer(name, question.id, { action: "decline" })).status).toBe(404);
    expect(await open(name)).toEqual([]);
    expect(unpaired(await historyOf(name))).toEqual([]);
  });

  test("is over when the object is lost: the outcome is unknown, the call is not made again, a late answer gets 404", async () => {
    // spec: E-30 T-2
    const name = "elicit-lost";
    const { stream, question } = await asked(name);
    await abortAllDurableObjects();
    const late = await answer(name, question.id, { action: "accept", content: { name: "Ada" } });
    expect(late.status).toBe(404);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(String(results(stream)[0])).toContain("Whether it took effect is unknown");
    expect(await callsOf(name)).toHaveLength(1);
    expect(await open(name)).toEqual([]);
    expect(unpaired(await historyOf(name))).toEqual([]);
  }, 20_000);

  test("gets 404 for an answer that is the first to reach the object after it was lost", async () => {
    const name = "elicit-first";
    const { stream, question } = await asked(name);
    // Nobody watches any more, so that nobody else wakes the object.
    await stream.cancel();
    await abortAllDurableObjects();
    expect((await answer(name, question.id, { action: "decline" })).status).toBe(404);
    await expect.poll(async () => JSON.stringify(await historyOf(name))).toContain("Whether it took effect is unknown");
    expect(await audited(name)).toMatchObject([
      { operation: "decide", outcome: "blocked", reason: "the call it belongs to was interrupted" },
    ]);
  }, 20_000);

  test("of a sub-agent comes on the session's stream under the sub-agent's name", async () => {
    const name = "elicit-sub";
    const agent = { id: "s", name: "Agent", input: { description: "d", prompt: "ask them" } };
    await scriptAgents(name, {
      "go on": [anthropicTurn({ calls: [agent] }), anthropicTurn({ text: "ok" })],
      "ask them": [anthropicTurn({ calls: [lab("r", "ask", { key: name })] }), anthropicTurn({ text: "asked" })],
    });
    await createSession(name);
    const stream = await send(name, name, { prompt: "go on", ...ALLOW });
    const question = (await stream.until("elicitation")).data;
    expect(question).toMatchObject({ subagent_id: "sa-1", tool_call_id: "r", server: "lab" });
    expect(await open(name)).toMatchObject([{ subagent_id: "sa-1" }]);
    expect((await answer(name, question.id, { action: "accept", content: { name: "Ada" } })).status).toBe(200);
    await stream.toEnd();
    expect((await callsOf(name))[0]?.answers).toEqual([{ action: "accept", content: { name: "Ada" } }]);
  });

  test("what a person answers is redacted like all input: no server is told a registered secret", async () => {
    // spec: S-5
    const name = "elicit-secret";
    const { stream, question } = await asked(name);
    await answer(name, question.id, { action: "accept", content: { name: "sekret-99" } });
    await stream.toEnd();
    expect(results(stream)).toEqual(['you said {"action":"accept","content":{"name":"[SECRET:SHORT]"}}']);
    expect((await callsOf(name))[0]?.answers).toEqual([{ action: "accept", content: { name: "[SECRET:SHORT]" } }]);
  });
});
