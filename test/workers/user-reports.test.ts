import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { folded } from "../support/folded.ts";
import { type SseEvent, SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, scriptAgents, seen, send } from "./support/client.ts";
import { historyOf, unpaired } from "./support/history.ts";

/** What users of such engines have reported, and what this one does instead. */
const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> effects.txt" } };
const ASKED = [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "ok" })];

async function events(session: string, after: number | string): Promise<Response> {
  return call(`/v1/sessions/${session}/events`, { headers: { "last-event-id": String(after) } });
}

async function answer(session: string, id: unknown, allow = true): Promise<number> {
  return (await post(`/v1/sessions/${session}/permissions/${String(id)}`, { allow })).status;
}

async function effects(session: string): Promise<string> {
  const file = await call(`/v1/sessions/${session}/files/effects.txt`);
  return file.status === 404 ? "" : new TextDecoder().decode(await file.arrayBuffer());
}

/** A session parked on the question whether to write; gives its stream and the question. */
async function parked(name: string, replies = ASKED): Promise<{ stream: SseReader; asked: SseEvent }> {
  await script(name, replies);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go" });
  return { stream, asked: await stream.until("permission_request") };
}

function count(stream: SseReader, type: string): number {
  return stream.seen.filter((event) => event.type === type).length;
}

async function started(session: string): Promise<number> {
  return runInDurableObject(
    objectOf(session),
    (_, { storage }) =>
      storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM log WHERE kind = 'tool_started'").one().n,
  );
}

describe("streams", () => {
  test("S1: a client cut off at any event of a live run gets exactly the rest, in order, none twice", async () => {
    const name = "s1";
    const reply = anthropicTurn({ thinking: "let me think", text: "One, two, three." }, { everyMs: 10 });
    await script(
      name,
      Array.from({ length: 12 }, () => reply),
    );
    await createSession(name);
    const whole = await send(name, name, { prompt: "hi" });
    const expected = folded(await whole.toEnd());
    for (let cut = 1; cut <= 10; cut++) {
      const live = await send(name, name, { prompt: "again" });
      for (let i = 0; i < cut && live.seen.at(-1)?.type !== "done"; i++) await live.next();
      await live.cancel();
      const last = live.seen.at(-1);
      if (!last || last.type === "done") break;
      const rest = new SseReader(await events(name, last.id));
      await rest.until("done");
      await rest.cancel();
      const all = [...live.seen, ...rest.seen];
      expect.soft(rising(all), `cut after ${cut}`).toBe(true);
      expect.soft(folded(all), `cut after ${cut}`).toEqual(expected);
    }
  });

  test("S2: a bad cursor is a 400, one too old a reset with a snapshot, never silence", async () => {
    const name = "s2";
    await script(name, [anthropicTurn({ text: "one" })]);
    await createSession(name);
    await (await send(name, name, { prompt: "hi" })).toEnd();
    for (const bad of ["x", "-1", "1.5", "1e3", "99999999999999999999", "4000"])
      expect.soft((await events(name, bad)).status, bad).toBe(400);
    await runInDurableObject(objectOf(name), (_, { storage }) => {
      const { top } = storage.sql.exec<{ top: number }>("SELECT max(seq) AS top FROM events").one();
      storage.sql.exec("DELETE FROM events");
      storage.sql.exec("INSERT OR REPLACE INTO meta VALUES ('dropped', ?)", String(top));
    });
    const viewer = new SseReader(await events(name, 1));
    const reset = await viewer.until("reset");
    await viewer.cancel();
    expect(viewer.seen).toHaveLength(1);
    expect(reset.data.snapshot).toMatchObject({ session_id: name, message_count: 2, running: false });
  });
});

const DELEGATE = (id: string, prompt: string) => ({ id, name: "Agent", input: { description: prompt, prompt } });

describe("sub-agents", () => {
  test("S3: events of sub-agents are replayed on resume as they were sent live", async () => {
    const name = "s3";
    await scriptAgents(name, {
      "look twice": [
        anthropicTurn({ calls: [DELEGATE("a", "left side"), DELEGATE("b", "right side")] }),
        anthropicTurn({ text: "both" }),
      ],
      "left side": [
        anthropicTurn({ text: "going left", calls: [{ id: "g", name: "Glob", input: { pattern: "*" } }] }),
        anthropicTurn({ text: "left is empty" }),
      ],
      "right side": [anthropicTurn({ thinking: "hm", text: "right is empty" })],
    });
    await createSession(name);
    const live = await send(name, name, { prompt: "look twice" });
    const whole = await live.toEnd();
    expect(count(live, "subagent_start")).toBe(2);
    expect(count(live, "subagent_end")).toBe(2);
    // Whole events come back as they were, to the byte; deltas as the same text in fewer pieces.
    const exact = (list: readonly SseEvent[]) =>
      list.filter(({ type, data }) => !`${type} ${String(data.event_type)}`.includes("_delta"));
    for (const cut of whole.keys()) {
      const rest = new SseReader(await events(name, cut === 0 ? 0 : (whole[cut - 1]?.id ?? 0)));
      await rest.until("done");
      await rest.cancel();
      expect.soft(exact(rest.seen), `cut after ${cut}`).toEqual(exact(whole.slice(cut)));
      expect.soft(folded([...whole.slice(0, cut), ...rest.seen]), `cut after ${cut}`).toEqual(folded(whole));
    }
  });

  test("S4: a question two levels down is asked on the root stream, answered there, and a cancel ends it", async () => {
    const name = "s4";
    const agents = {
      "ask below": [anthropicTurn({ calls: [DELEGATE("a", "middle one")] }), anthropicTurn({ text: "done" })],
      "middle one": [anthropicTurn({ calls: [DELEGATE("b", "deep one")] }), anthropicTurn({ text: "middle done" })],
      "deep one": [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "deep done" })],
    };
    await scriptAgents(name, agents);
    await createSession(name);
    const stream = await send(name, name, { prompt: "ask below" });
    const asked = await stream.until("permission_request");
    expect(asked.data).toMatchObject({ subagent_id: "sa-2", tool_name: "Bash", tool_call_id: "toolu_1" });
    // Nobody is at work: the object may go, and finds its way back from the log.
    await abortAllDurableObjects();
    expect(await answer(name, asked.data.id)).toBe(200);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(await effects(name)).toBe("hi\n");
    expect(unpaired(await historyOf(name))).toEqual([]);
  });

  test("S4: a cancel ends a run whose sub-agent waits for an answer", async () => {
    const name = "s4-cancel";
    await scriptAgents(name, {
      "ask below": [anthropicTurn({ calls: [DELEGATE("a", "deep one")] })],
      "deep one": [anthropicTurn({ calls: [WRITE] })],
    });
    await createSession(name);
    const stream = await send(name, name, { prompt: "ask below" });
    await stream.until("permission_request");
    expect((await post(`/v1/sessions/${name}/cancel`, {})).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "cancelled" } });
    expect(stream.seen.find(({ type }) => type === "subagent_end")?.data.status).toBe("cancelled");
    expect(await effects(name)).toBe("");
  });
});

describe("questions", () => {
  test("S5: a question outlives its client and its object, is listed, and takes its answer by its first id", async () => {
    const name = "s5";
    const { stream, asked } = await parked(name);
    await stream.cancel();
    await abortAllDurableObjects();
    const open = await call(`/v1/sessions/${name}/permissions`);
    expect(((await open.json()) as { data: unknown[] }).data).toMatchObject([
      { id: asked.data.id, expires_at: asked.data.expires_at, tool_call_id: "toolu_1" },
    ]);
    await abortAllDurableObjects();
    expect(await answer(name, asked.data.id)).toBe(200);
    const rest = new SseReader(await events(name, asked.id));
    await rest.until("done");
    await rest.cancel();
    expect(rest.seen.find(({ type }) => type === "tool_result")?.data.is_error).toBe(false);
    expect(await effects(name)).toBe("hi\n");
  });

  test("S6: approved once and resumed, the tool runs once and nobody is asked again", async () => {
    const name = "s6";
    const { stream, asked } = await parked(name);
    // The answer is stored, then the process dies: nothing of what follows from it is.
    await runInDurableObject(objectOf(name), (_, { storage }) => {
      const real = storage.transactionSync.bind(storage);
      let left = 1;
      storage.transactionSync = (work) => {
        if (left-- <= 0) throw new Error("the process is dead");
        return real(work);
      };
    });
    expect(await answer(name, asked.data.id)).toBe(200);
    await runInDurableObject(objectOf(name), (_, { storage }) => storage.sync());
    expect(await started(name)).toBe(0);
    await abortAllDurableObjects();
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect([count(stream, "permission_request"), count(stream, "tool_result")]).toEqual([1, 1]);
    expect([await effects(name), await started(name)]).toEqual(["hi\n", 1]);
    expect(await answer(name, asked.data.id)).toBe(409);
  });
});

describe("runs that are interrupted", () => {
  test("S7: a result that was shown is stored: its tool never runs again", async () => {
    const name = "s7";
    const { stream, asked } = await parked(name);
    await answer(name, asked.data.id);
    const result = await stream.until("tool_result");
    await abortAllDurableObjects();
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(await effects(name)).toBe("hi\n");
    const sent = JSON.stringify((await seen(name)).at(-1)?.body.messages);
    expect(sent).toContain(JSON.stringify(result.data.output));
  });

  test("S8: an interrupted turn comes to its end by the alarm alone, and the next message works", async () => {
    const name = "s8";
    const half = anthropicTurn({ text: "half" });
    const stuck = { chunks: half.chunks.slice(0, 3), end: "stall" as const };
    await script(name, [stuck, anthropicTurn({ text: "whole" }), anthropicTurn({ text: "next" })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go" });
    await stream.until("text_delta");
    await stream.cancel();
    await abortAllDurableObjects();
    await vi.waitFor(async () => expect(JSON.stringify(await historyOf(name))).toContain("whole"), {
      timeout: 10_000,
      interval: 100,
    });
    expect(await seen(name)).toHaveLength(2);
    const next = await send(name, name, { prompt: "more" });
    await next.toEnd();
    expect(next.seen.at(-1)?.type).toBe("done");
  }, 30_000);

  test("S9: a tool that outlasts many heartbeats is never started a second time, and its answer came back at once", async () => {
    const name = "s9";
    const slow = { ...WRITE, input: { command: "echo hi >> effects.txt; sleep 2.5" } };
    const { stream, asked } = await parked(name, [anthropicTurn({ calls: [slow] }), anthropicTurn({ text: "ok" })]);
    expect(await answer(name, asked.data.id)).toBe(200);
    // The answer did not wait for the tool: it is still at it, and its result is not stored.
    const results = await runInDurableObject(
      objectOf(name),
      (_, { storage }) =>
        storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM log WHERE kind = 'tool_finished'").one().n,
    );
    expect(results).toBe(0);
    expect(await answer(name, asked.data.id)).toBe(409);
    const beats = setInterval(() => void runDurableObjectAlarm(objectOf(name)), 200);
    await stream.toEnd();
    clearInterval(beats);
    expect([await effects(name), await started(name), count(stream, "tool_result")]).toEqual(["hi\n", 1, 1]);
  }, 20_000);

  test("S14: a call that lost its result is paired before the next model call", async () => {
    const name = "s14";
    const { stream } = await parked(name, [...ASKED, anthropicTurn({ text: "more" })]);
    await runInDurableObject(objectOf(name), async (_, { storage }) => {
      storage.sql.exec("DELETE FROM credentials");
      await storage.sync();
    });
    await abortAllDurableObjects();
    await call(`/v1/sessions/${name}/cancel`, { method: "POST" });
    await stream.toEnd();
    await (await send(name, name, { prompt: "again" })).toEnd();
    const sent = (await seen(name)).at(-1)?.body.messages;
    expect(JSON.stringify(sent)).toContain('"tool_use_id":"toolu_1"');
    expect(unpaired(sent)).toEqual([]);
    expect(unpaired(await historyOf(name))).toEqual([]);
  });

  test("S18: a cancel ends a tool that would run on for a minute at once", async () => {
    const name = "s18";
    const slow = { ...WRITE, input: { command: "echo hi >> effects.txt; sleep 60" } };
    const { stream, asked } = await parked(name, [anthropicTurn({ calls: [slow] })]);
    await answer(name, asked.data.id);
    await vi.waitFor(async () => expect(await started(name)).toBe(1));
    // Two at the same moment: both are told, not only the later one.
    const told = await runInDurableObject(objectOf(name), (session) =>
      Promise.all(["first", "second"].map((reason) => session.cancelRun(reason))),
    );
    expect(told.map((cancelled) => cancelled.ok)).toEqual([true, true]);
    // The tool's own minute is longer than this test may take.
    await stream.toEnd();
    expect(stream.seen.at(-1)?.data.stop_reason).toBe("cancelled");
    expect(unpaired(await historyOf(name))).toEqual([]);
  });
});

describe("messages", () => {
  test("S10: of many at once one turn runs at a time, none is lost, each gets a clear answer", async () => {
    const name = "s10";
    const COUNT = 8;
    await script(
      name,
      Array.from({ length: COUNT }, () => anthropicTurn({ text: "ok" }, { everyMs: 5 })),
    );
    await createSession(name);
    const headers = { "x-flyto-provider-key": `key-${name}` };
    const all = await Promise.all(
      Array.from({ length: COUNT }, async (_, i) => {
        const body = { provider: "anthropic", prompt: `p${i}`, on_busy: i % 2 === 0 ? "queue" : "reject" };
        return {
          prompt: `p${i}`,
          queues: i % 2 === 0,
          response: await post(`/v1/sessions/${name}/messages`, body, headers),
        };
      }),
    );
    const taken = all.filter(({ response }) => response.status === 200);
    expect(all.filter(({ queues }) => queues).every(({ response }) => response.status === 200)).toBe(true);
    for (const { response } of all) expect([200, 409]).toContain(response.status);
    for (const { response } of taken) {
      const stream = new SseReader(response);
      await stream.toEnd();
      expect([count(stream, "done"), stream.seen.at(-1)?.type]).toEqual([1, "done"]);
    }
    const history = await historyOf(name);
    expect(history.map(({ role }) => role)).toEqual(taken.flatMap(() => ["user", "assistant"]));
    const prompts = history.flatMap(({ role, content }) => (role === "user" ? [content[0]?.text] : []));
    expect(prompts.sort()).toEqual(taken.map(({ prompt }) => prompt).sort());
  });

  test("S11: a repeated post attaches to its first turn; another body under the same key is refused", async () => {
    const name = "s11";
    await script(name, [anthropicTurn({ text: "only once" })]);
    await createSession(name);
    const headers = { "x-flyto-provider-key": `key-${name}`, "idempotency-key": "k-1" };
    const body = { prompt: "hi", provider: "anthropic" };
    const path = `/v1/sessions/${name}/messages`;
    // The client gives up before it sees anything, and tries again after a crash of the object.
    await (await post(path, body, headers)).body?.cancel();
    await abortAllDurableObjects();
    const again = new SseReader(await post(path, body, headers));
    await again.toEnd();
    expect(again.seen.at(-1)?.type).toBe("done");
    expect((await historyOf(name)).map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect((await post(path, { ...body, prompt: "ho" }, headers)).status).toBe(409);
  });
});

describe("large results", () => {
  test("S19: a 5 MB tool result is kept and replayed, and the run goes on", async () => {
    const name = "s19";
    const cat = { id: "b", name: "Bash", input: { command: "cat big.txt" } };
    await script(name, [anthropicTurn({ calls: [cat] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const body = `${"0123456789abcdef".repeat(4)}\n`.repeat(80_000);
    expect((await call(`/v1/sessions/${name}/files/big.txt`, { method: "PUT", body })).status).toBe(200);
    const stream = await send(name, name, { prompt: "go" });
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    await abortAllDurableObjects();
    const replay = new SseReader(await events(name, 0));
    await replay.until("done");
    await replay.cancel();
    expect(folded(replay.seen)).toEqual(folded(stream.seen));
    const output = String(stream.seen.find(({ type }) => type === "tool_result")?.data.output);
    const path = /\/workspace\/(\.flyto\/tool-output\/\S+\.txt)/.exec(output)?.[1];
    const kept = await (await call(`/v1/sessions/${name}/files/${path}`)).arrayBuffer();
    expect(kept.byteLength).toBeGreaterThanOrEqual(body.length - 1);
  });
});

function rising(list: readonly SseEvent[]): boolean {
  return list.every(({ id }, i) => i === 0 || id > (list[i - 1]?.id ?? 0));
}
