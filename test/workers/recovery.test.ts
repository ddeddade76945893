import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { anthropicTurn } from "../support/wires.ts";
import { createSession, objectOf, post, script, seen, send } from "./support/client.ts";

const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> out.txt" } };

function answer(session: string, id: unknown): Promise<Response> {
  return post(`/v1/sessions/${session}/permissions/${String(id)}`, { allow: true });
}

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
});
