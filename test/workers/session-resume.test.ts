import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { SessionStore } from "../../durable-objects/session-store.ts";
import { folded } from "../support/folded.ts";
import type { Reply } from "../support/scripted-upstream.ts";
import { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, scriptAgents, seen, send } from "./support/client.ts";
import { historyOf, unpaired } from "./support/history.ts";

const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> effects.txt" } };

async function events(session: string, after?: string): Promise<Response> {
  return call(`/v1/sessions/${session}/events`, after === undefined ? {} : { headers: { "last-event-id": after } });
}

describe("resume", () => {
  test("a reconnect after any event shows exactly the rest, in order, once", async () => {
    // spec: E-30 — user report S1
    await script("resume", [anthropicTurn({ thinking: "thinking about it", text: "Part one, part two, part three." })]);
    await createSession("resume");
    const live = await send("resume", "resume", { prompt: "hi" });
    await live.toEnd();
    const whole = folded(live.seen);
    for (const [at, event] of live.seen.entries()) {
      const again = new SseReader(await events("resume", String(event.id)));
      const rest = live.seen.slice(at + 1);
      while (again.seen.at(-1)?.type !== "done" && rest.length > 0) await again.next();
      await again.cancel();
      const ids = again.seen.map((e) => e.id);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
      expect(folded([...live.seen.slice(0, at + 1), ...again.seen])).toEqual(whole);
    }
  });

  test("a bad cursor is refused, and an id never given too", async () => {
    // user report S2
    await createSession("cursor");
    for (const bad of ["x", "-1", "1.5", "99999999999999999999"])
      expect((await events("cursor", bad)).status).toBe(400);
    expect((await events("cursor", "5000")).status).toBe(400);
    expect((await call("/v1/sessions/cursor/events?after=zz")).status).toBe(400);
    expect((await events("nobody-here")).status).toBe(404);
  });

  test("any number of viewers see the same run", async () => {
    await script("viewers", [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "ok" })]);
    await createSession("viewers");
    const one = await send("viewers", "viewers", { prompt: "hi" });
    const asked = await one.until("permission_request");
    const others = await Promise.all([events("viewers"), events("viewers")]).then((all) =>
      all.map((r) => new SseReader(r)),
    );
    await post(`/v1/sessions/viewers/permissions/${String(asked.data.id)}`, { allow: true });
    await one.toEnd();
    for (const viewer of others) {
      await viewer.until("done");
      expect(folded(viewer.seen)).toEqual(folded(one.seen));
      await viewer.cancel();
    }
  });

  test("a place that is not kept any more is answered with a snapshot, then live", async () => {
    // user report S2
    await script("old", [anthropicTurn({ text: "one" }), anthropicTurn({ text: "two" })]);
    await createSession("old");
    await (await send("old", "old", { prompt: "hi" })).toEnd();
    await runInDurableObject(objectOf("old"), (_, { storage }) => {
      const { top } = storage.sql.exec<{ top: number }>("SELECT max(seq) AS top FROM events").one();
      storage.sql.exec("DELETE FROM events");
      storage.sql.exec("INSERT OR REPLACE INTO meta VALUES ('dropped', ?)", String(top));
    });
    const viewer = new SseReader(await events("old", "1"));
    const reset = await viewer.next();
    expect(reset?.type).toBe("reset");
    expect(reset?.data.snapshot).toMatchObject({ session_id: "old", message_count: 2, running: false });
    await (await send("old", "old", { prompt: "again" })).toEnd();
    await viewer.until("done");
    expect(viewer.seen[1]?.type).toBe("turn_start");
    await viewer.cancel();
  });

  test("events of runs that ended before a time are dropped, those of later ones are kept", async () => {
    // spec: E-30
    await script("aged", [anthropicTurn({ text: "one" }), anthropicTurn({ text: "two" })]);
    await createSession("aged");
    const first = await send("aged", "aged", { prompt: "hi" });
    await first.toEnd();
    const between = Date.now() + 1;
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(between));
    const second = await send("aged", "aged", { prompt: "again" });
    await second.toEnd();
    await runInDurableObject(objectOf("aged"), (_, { storage }) => new SessionStore(storage).dropEventsOlder(between));
    const late = new SseReader(await events("aged", String(second.seen[0]?.id)));
    await late.until("done");
    expect(late.types()).toEqual(second.types().slice(1));
    await late.cancel();
    const viewer = new SseReader(await events("aged", "1"));
    expect((await viewer.next())?.type).toBe("reset");
    // The snapshot has told all of it: only what comes from now on follows, a turn under way from its beginning.
    const write = { id: "b", name: "Bash", input: { command: "echo hi > out.txt" } };
    await script("aged", [anthropicTurn({ calls: [write] }), anthropicTurn({ text: "three" })]);
    const third = await send("aged", "aged", { prompt: "and again" });
    const question = await third.until("permission_request");
    await viewer.until("permission_request");
    expect(viewer.types()).toEqual(["reset", ...third.types()]);
    await viewer.cancel();
    const other = new SseReader(await events("aged", "1"));
    const reset = await other.until("reset");
    expect(reset.data.snapshot).toMatchObject({ message_count: 5, open_permissions: [{ id: question.data.id }] });
    await other.until("permission_request");
    expect(other.types()).toEqual(["reset", ...third.types()]);
    await other.cancel();
  });
});

describe("repeats", () => {
  test("the same key and body attach to the first stream, also after its end; another body is refused", async () => {
    // spec: H-21 — user report S11
    await script("repeat", [anthropicTurn({ text: "only once" })]);
    await createSession("repeat");
    const headers = { "x-flyto-provider-key": "key-repeat", "idempotency-key": "abc-1" };
    const body = { prompt: "hi", provider: "anthropic" };
    const [first, second] = await Promise.all([1, 2].map(() => post("/v1/sessions/repeat/messages", body, headers)));
    if (!first || !second) throw new Error("two answers");
    const readers = [new SseReader(first), new SseReader(second)];
    await Promise.all(readers.map((reader) => reader.toEnd()));
    const late = new SseReader(await post("/v1/sessions/repeat/messages", body, headers));
    await late.toEnd();
    for (const reader of [...readers, late]) expect(reader.seen.at(-1)?.type).toBe("done");
    expect(folded(late.seen)).toEqual(folded(readers[0]?.seen ?? []));
    expect(await seen("repeat")).toHaveLength(1);
    const other = await post("/v1/sessions/repeat/messages", { ...body, prompt: "ho" }, headers);
    expect(other.status).toBe(409);
  });

  test("a repeated create gives the same session", async () => {
    // spec: H-21
    const make = (body: unknown) => post("/v1/sessions", body, { "idempotency-key": "create-1" });
    const [one, two] = await Promise.all([make({}), make({})]);
    expect([one?.status, two?.status]).toEqual([201, 201]);
    expect(await one?.json()).toEqual(await two?.json());
    expect((await make({ session_id: "other" })).status).toBe(409);
  });

  test("of many messages at once one runs and the others get a clear answer", async () => {
    // user report S10
    await script(
      "many",
      Array.from({ length: 1 }, () => anthropicTurn({ calls: [WRITE] })),
    );
    await createSession("many");
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        post(
          "/v1/sessions/many/messages",
          { prompt: "x", provider: "anthropic" },
          { "x-flyto-provider-key": "key-many" },
        ),
      ),
    );
    expect(all.map((response) => response.status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
    await call("/v1/sessions/many/cancel", { method: "POST" });
  });
});

describe("the list, figures and forks", () => {
  test("a new session is in the list at once, newest first, page by page, and gone after its deletion", async () => {
    // spec: H-20
    for (const id of ["list-1", "list-2", "list-3"]) await createSession(id);
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const page = (await (await call(`/v1/sessions?limit=2${cursor ? `&cursor=${cursor}` : ""}`)).json()) as {
        data: { session_id: string }[];
        next_cursor: string | null;
      };
      names.push(...page.data.map((session) => session.session_id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(names.filter((name) => name.startsWith("list-")).sort()).toEqual(["list-1", "list-2", "list-3"]);
    expect(new Set(names).size).toBe(names.length);
    await call("/v1/sessions/list-2", { method: "DELETE" });
    expect(await (await call("/v1/sessions?limit=200")).text()).not.toContain("list-2");
    expect((await call("/v1/sessions?cursor=bm9uZQ")).status).toBe(400);
  });

  test("stats are sums over the log, and a fork starts at zero with the same history and files", async () => {
    // spec: P-2 H-20
    await script("fork", [
      anthropicTurn({ calls: [{ id: "w", name: "Write", input: { file_path: "a.txt", content: "one" } }] }),
      anthropicTurn({ text: "ok" }),
      anthropicTurn({
        calls: [{ id: "w2", name: "Edit", input: { file_path: "a.txt", old_string: "one", new_string: "two" } }],
      }),
      anthropicTurn({ text: "changed" }),
    ]);
    await createSession("fork");
    await (await send("fork", "fork", { prompt: "go" })).toEnd();
    const stats = await (await call("/v1/sessions/fork/stats")).json();
    expect(stats).toMatchObject({
      input_tokens: 20,
      output_tokens: 10,
      turns: 2,
      messages: 4,
      tool_calls: 1,
      runs: 1,
      denials: 0,
    });
    const forked = await post("/v1/sessions/fork/fork", { session_id: "fork-b" });
    expect([forked.status, await forked.json()]).toMatchObject([201, { session_id: "fork-b" }]);
    expect(await (await call("/v1/sessions/fork-b/stats")).json()).toMatchObject({
      input_tokens: 0,
      turns: 0,
      messages: 4,
    });
    const edited = await send("fork-b", "fork", { prompt: "change it" });
    await edited.toEnd();
    expect(edited.seen.find((event) => event.type === "tool_result")?.data.is_error).toBe(false);
    expect(await (await call("/v1/sessions/fork/files/a.txt")).text()).toBe("one");
    expect(await (await call("/v1/sessions/fork-b/files/a.txt")).text()).toBe("two");
    expect((await post("/v1/sessions/fork/fork", { session_id: "fork-b" })).status).toBe(409);
    expect((await post("/v1/sessions/nobody/fork", {})).status).toBe(404);
  });

  test("a 5 MB tool result is kept, replayed, and cut for the model", async () => {
    // spec: T-7 — user report S19
    const name = "big";
    const cat = { id: "b", name: "Bash", input: { command: "cat big.txt" } };
    await script(name, [anthropicTurn({ calls: [cat] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const line = "0123456789abcdef".repeat(4);
    const body = `${line}\n`.repeat(80_000);
    expect((await call(`/v1/sessions/${name}/files/big.txt`, { method: "PUT", body })).status).toBe(200);
    const stream = await send(name, name, { prompt: "go" });
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    const output = String(stream.seen.find((event) => event.type === "tool_result")?.data.output);
    expect(output.length).toBeLessThanOrEqual(102_400);
    const path = /\/workspace\/(\.flyto\/tool-output\/\S+\.txt)/.exec(output)?.[1];
    const kept = await (await call(`/v1/sessions/${name}/files/${path}`)).arrayBuffer();
    expect(kept.byteLength).toBeGreaterThanOrEqual(body.length - 1);
    const told = (await seen(name))[1]?.body.messages.at(-1).content[0];
    expect(JSON.stringify(told).length).toBeLessThan(130_000);
  });
});

describe("recovery", () => {
  test("stopped after every stored step, the run ends the same and its effect happens once", async () => {
    // spec: E-30 T-2 — user reports S5, S6, S7, S8, S14
    const turns = () => [
      anthropicTurn({
        thinking: "let me look",
        text: "Looking.",
        calls: [
          { id: "r1", name: "Glob", input: { pattern: "*" } },
          { id: "r2", name: "TodoWrite", input: { todos: [] } },
        ],
      }),
      anthropicTurn({ calls: [WRITE] }),
      anthropicTurn({ text: "All done." }),
    ];
    const undisturbed = await crashRun("matrix-0", turns(), undefined);
    expect(undisturbed.steps).toBeGreaterThan(10);
    for (let point = 1; point <= undisturbed.steps; point++) {
      const run = await crashRun(`matrix-${point}`, turns(), point);
      expect.soft(run.terminal, `point ${point}`).toEqual(["done"]);
      expect.soft(run.effects, `point ${point}`).toMatch(/^(hi\n)?$/);
      if (run.unknown) continue;
      expect.soft(run.effects, `point ${point}`).toBe("hi\n");
      expect.soft(run.events, `point ${point}`).toEqual(undisturbed.events);
    }
    console.log(`${undisturbed.steps} points of interruption, none skipped`);
  }, 120_000);
});

describe("recovery of agents and compactions", () => {
  test("stopped after every stored step, background agents and compactions included, the run ends the same", async () => {
    const delegate = (id: string, prompt: string, background: boolean) => ({
      id,
      name: "Agent",
      input: { description: prompt, prompt, run_in_background: background },
    });
    const agents = {
      "the whole job": [
        // So large a count that the next turn begins with a compaction.
        anthropicTurn({
          calls: [delegate("a", "write it down", false), delegate("b", "look around", true)],
          inputTokens: 29_000,
        }),
        anthropicTurn({ calls: [{ id: "n", name: "TodoWrite", input: { todos: [] } }] }),
        anthropicTurn({ text: "All done." }),
        anthropicTurn({ text: "Still done." }),
        anthropicTurn({ text: "Still done." }),
      ],
      "write it down": [anthropicTurn({ calls: [WRITE] }), anthropicTurn({ text: "written" })],
      "look around": [
        anthropicTurn({ calls: [{ id: "g", name: "Glob", input: { pattern: "*" } }] }),
        anthropicTurn({ text: "seen" }),
      ],
      "<record>": [anthropicTurn({ text: "Goal: the whole job." })],
    };
    const play = (name: string, point: number | undefined) =>
      crashRun(name, agents, point, { prompt: "the whole job", model: "narrow" });
    const calm = await play("agents-0", undefined);
    expect(calm.terminal).toEqual(["done"]);
    expect(calm.events.some((line) => line.startsWith("context_compacted"))).toBe(true);
    expect(calm.steps).toBeGreaterThan(25);
    for (let point = 1; point <= calm.steps; point++) {
      const run = await play(`agents-${point}`, point);
      expect.soft(run.terminal, `point ${point}`).toEqual(["done"]);
      expect.soft(run.effects, `point ${point}`).toMatch(/^(hi\n)?$/);
      if (!run.unknown) expect.soft(run.effects, `point ${point}`).toBe("hi\n");
      expect.soft(unpaired(await historyOf(`agents-${point}`)), `point ${point}`).toEqual([]);
    }
    console.log(`${calm.steps} points of interruption with agents, none skipped`);
  }, 120_000);
});

/** Plays the scripted run with one interruption after the `point`-th stored step, under a client that reads one stream. */
async function crashRun(
  name: string,
  replies: Reply[] | Record<string, Reply[]>,
  point: number | undefined,
  request: Record<string, unknown> = { prompt: "go" },
) {
  // A call that broke off is made again: every turn's reply is there often enough.
  if (Array.isArray(replies)) {
    await script(name, replies);
    await fetch(`${env.UPSTREAM}/__sticky/${name}`, { method: "PUT" });
  } else await scriptAgents(name, replies);
  await createSession(name);
  const counter = { steps: 0 };
  await faultAfter(name, point, counter);
  const stream = await send(name, name, request).catch(async () => new SseReader(await events(name)));
  const answered = new Set<string>();
  const terminal: string[] = [];
  const heal = point === undefined ? undefined : setInterval(() => void revive(name, counter, point), 20);
  while (terminal.length === 0) {
    const event = await stream.next();
    if (!event) break;
    if (event.type === "done" || event.type === "error") terminal.push(event.type);
    if (event.type !== "permission_request") continue;
    answered.add(String(event.data.id));
    void answerUntilTaken(name, String(event.data.id));
  }
  clearInterval(heal);
  expect(answered.size).toBeLessThanOrEqual(1);
  const file = await call(`/v1/sessions/${name}/files/effects.txt`);
  const effects = file.status === 404 ? "" : new TextDecoder().decode(await file.arrayBuffer());
  const shown = folded(stream.seen);
  return {
    steps: counter.steps,
    terminal,
    effects,
    events: shown,
    unknown: shown.some((line) => line.includes("unknown")),
  };
}

/** Counts stored steps; after the given one nothing more is stored, as if the process had died there. */
async function faultAfter(name: string, point: number | undefined, counter: { steps: number }): Promise<void> {
  await runInDurableObject(objectOf(name), (_, { storage }) => {
    const real = storage.transactionSync.bind(storage);
    let inside = false;
    storage.transactionSync = (work) => {
      // One inside another is no step of its own.
      if (inside) return real(work);
      if (point !== undefined && counter.steps >= point) throw new Error("the process is dead");
      inside = true;
      try {
        const result = real(work);
        counter.steps++;
        return result;
      } finally {
        inside = false;
      }
    };
  });
}

/** Once the fault has struck, the object is lost with all its memory; its alarm is what picks the run up again. */
async function revive(name: string, counter: { steps: number }, point: number): Promise<void> {
  if (counter.steps !== point) return;
  counter.steps++;
  await runInDurableObject(objectOf(name), (_, { storage }) => storage.sync()).catch(() => undefined);
  await abortAllDurableObjects();
}

async function answerUntilTaken(name: string, id: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const response = await post(`/v1/sessions/${name}/permissions/${id}`, { allow: true });
    if (response.status === 200 || response.status === 409 || response.status === 404) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
