import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, seen, send } from "./support/client.ts";

const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> out.txt" } };

function answer(session: string, id: unknown): Promise<Response> {
  return post(`/v1/sessions/${session}/permissions/${String(id)}`, { allow: true });
}

describe("a parked question", () => {
  test("keeps its id and its deadline over a restart, is listed, and runs its tool once", async () => {
    // user reports S5, S6
    await script("deadline", [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "ok" })]);
    await createSession("deadline");
    const stream = await send("deadline", "deadline", { prompt: "go" });
    const asked = await stream.until("permission_request");
    await abortAllDurableObjects();
    const open = (await (await call("/v1/sessions/deadline/permissions")).json()) as {
      data: { id: string; expires_at: string }[];
    };
    expect(open.data).toMatchObject([{ id: asked.data.id, expires_at: asked.data.expires_at }]);
    expect((await answer("deadline", asked.data.id)).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.filter(({ type }) => type === "permission_request")).toHaveLength(1);
    expect(stream.seen.filter(({ type }) => type === "tool_result")).toHaveLength(1);
    const file = await (await call("/v1/sessions/deadline/files/out.txt")).arrayBuffer();
    expect(new TextDecoder().decode(file)).toBe("hi\n");
  });

  test("is answered at once, however long the approved tool runs, and the tool is never started twice", async () => {
    // user report S9
    const slow = { ...WRITE, input: { command: "echo hi >> out.txt; sleep 2" } };
    await script("slow", [anthropicTurn({ calls: [slow] }), anthropicTurn({ text: "ok" })]);
    await createSession("slow");
    const stream = await send("slow", "slow", { prompt: "go" });
    const asked = await stream.until("permission_request");
    expect((await answer("slow", asked.data.id)).status).toBe(200);
    // The tool is still at it: its result has not come.
    expect(stream.seen.some(({ type }) => type === "tool_result")).toBe(false);
    expect((await answer("slow", asked.data.id)).status).toBe(409);
    await stream.toEnd();
    const file = await (await call("/v1/sessions/slow/files/out.txt")).arrayBuffer();
    expect(new TextDecoder().decode(file)).toBe("hi\n");
  });
});

describe("a run that cannot go on", () => {
  test("whose own key is gone ends with a clear error, and the next message works", async () => {
    await script("lost", [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "again" })]);
    await createSession("lost");
    const stream = await send("lost", "lost", { prompt: "go" });
    const asked = await stream.until("permission_request");
    await runInDurableObject(objectOf("lost"), async (_, { storage }) => {
      storage.sql.exec("DELETE FROM credentials");
      await storage.sync();
    });
    await abortAllDurableObjects();
    await answer("lost", asked.data.id);
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "error", data: { category: "interrupted" } });
    expect(String(stream.seen.at(-1)?.data.error)).toContain("ENCRYPTION_KEY");
    const next = await send("lost", "lost", { prompt: "again" });
    await next.toEnd();
    expect(next.seen.at(-1)?.type).toBe("done");
    // The call that was left behind has its result in what the model is sent. User report S14.
    const sent = JSON.stringify((await seen("lost")).at(-1)?.body.messages);
    expect(sent).toContain('"tool_use_id":"toolu_1"');
  });

  test("is ended by the idle guard when the provider only sends comments", async () => {
    // user report S18
    const pings = Array.from({ length: 200 }, () => ": still here\n\n");
    const begun = anthropicTurn({ text: "half" }).chunks.slice(0, 3);
    const stuck = { chunks: [...begun, ...pings], everyMs: 50, end: "stall" as const };
    await script("pings", [stuck, stuck]);
    await createSession("pings");
    const stream = await send("pings", "pings", { prompt: "go" });
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "error", data: { category: "timeout", retryable: true } });
  }, 20_000);

  test("is brought to its end by the alarm alone after a crash in the middle of a model call", async () => {
    // user report S8
    const { chunks } = anthropicTurn({ text: "half" });
    await script("alone", [{ chunks: chunks.slice(0, 3), end: "stall" }, anthropicTurn({ text: "whole" })]);
    await createSession("alone");
    const stream = await send("alone", "alone", { prompt: "go" });
    await stream.until("text_delta");
    void stream.cancel();
    await abortAllDurableObjects();
    await vi.waitFor(async () => expect(await seen("alone")).toHaveLength(2), { timeout: 10_000, interval: 100 });
    await vi.waitFor(async () => expect(await (await call("/v1/sessions/alone/messages")).text()).toContain("whole"), {
      timeout: 10_000,
      interval: 100,
    });
  }, 30_000);
});
