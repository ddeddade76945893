import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script } from "./support/client.ts";
import { historyOf, unpaired } from "./support/history.ts";

const ACTIONS = [
  ...["message", "message", "queue", "queue", "queue"],
  ...["allow", "allow", "deny", "both", "again", "wrong"],
  ...["cancel", "cancels", "timeout", "alarm", "evict", "abort", "abort"],
] as const;

/** What a client and fate do, and how long after the action before it, milliseconds. */
const interleaving = fc.array(fc.tuple(fc.constantFrom(...ACTIONS), fc.integer({ min: 0, max: 30 })), {
  minLength: 4,
  maxLength: 12,
});

/** The n-th model call: two tools side by side with a question between, a question alone, an answer, and so on. */
const TURNS = Array.from({ length: 60 }, (_, i) => {
  const bash = { id: `w${i}`, name: "Bash", input: { command: `echo ${i} >> effects.txt` } };
  const glob = { id: `r${i}`, name: "Glob", input: { pattern: "*" } };
  const turns = [{ text: "Looking.", calls: [glob, bash] }, { calls: [bash] }, { text: "All done." }];
  return anthropicTurn(turns[i % turns.length] ?? {}, { everyMs: 2 });
});

/** Nothing a client asks may take so long. */
const HANGS_MS = 15_000;

let serial = 0;

afterEach(() => {
  vi.useRealTimers();
});

test("whatever happens in whatever order, every message that was taken ends once and the log stays well paired", async () => {
  // spec: T-2 T-4 T-5 H-6 H-21
  await fc.assert(
    fc.asyncProperty(interleaving, fc.boolean(), async (actions, watched) => {
      const play = new Play(`prop-${++serial}`, watched);
      await play.open();
      for (const [action, pause] of actions) {
        play.act(action);
        await scheduler.wait(pause);
      }
      await play.settled();
      await play.check();
    }),
    { numRuns: 15, seed: 20_261_201, endOnFailure: true },
  );
}, 90_000);

type Standing = { open: number; queued: number; pending: number; alarm: number | null };

/** One session under one interleaving. Actions are begun, not awaited, so that they overlap. */
class Play {
  readonly #name: string;
  /** Whether clients stay at their streams; else only the alarm comes back to the runs. */
  readonly #watched: boolean;
  readonly #going: Promise<void>[] = [];
  readonly #streams: SseReader[] = [];
  readonly #taken: string[] = [];
  readonly #asked = new Set<string>();
  readonly #accepted = new Map<string, number>();
  /** What has been begun and has not come back. */
  readonly #open: string[] = [];
  #messages = 0;
  #ahead = 0;

  constructor(name: string, watched: boolean) {
    this.#name = name;
    this.#watched = watched;
  }

  async open(): Promise<void> {
    await script(this.#name, TURNS);
    await fetch(`${env.UPSTREAM}/__sticky/${this.#name}`, { method: "PUT" });
    await createSession(this.#name);
  }

  act(action: (typeof ACTIONS)[number]): void {
    this.#open.push(action);
    const work = this.#do(action).finally(() => this.#open.splice(this.#open.indexOf(action), 1));
    const hangs = scheduler
      .wait(HANGS_MS)
      .then(() => Promise.reject(new Error(`never came back: ${this.#open.join()}`)));
    hangs.catch(() => undefined);
    this.#going.push(Promise.race([work, hangs]));
  }

  async #do(action: (typeof ACTIONS)[number]): Promise<void> {
    switch (action) {
      case "message":
      case "queue":
        return this.#send(action === "queue" ? "queue" : "reject");
      case "allow":
      case "deny":
        return this.#answer(action === "allow");
      case "both":
        await Promise.all([this.#answer(true), this.#answer(false)]);
        return;
      case "again":
        await Promise.all([...this.#asked].map((id) => this.#reply(id, true)));
        return;
      case "wrong":
        expect([404, 503]).toContain((await this.#post("/permissions/perm_nobody0000", { allow: true })).status);
        return;
      case "cancel":
        await this.#post("/cancel", {});
        return;
      case "cancels":
        await Promise.all([this.#post("/cancel", {}), this.#post("/cancel", {})]);
        return;
      case "timeout":
        return this.#pastDeadline();
      case "alarm":
        return this.#alarm();
      case "evict":
        // Polite: it waits for an object that is at work, which may be for as long as messages keep coming.
        await Promise.race([evictDurableObject(objectOf(this.#name)).catch(() => undefined), scheduler.wait(1_000)]);
        return;
      case "abort":
        await abortAllDurableObjects();
        return;
      default:
        action satisfies never;
    }
  }

  /** Sends a message until the answer is clear: the key makes a repeat harmless. */
  async #send(on_busy: "queue" | "reject"): Promise<void> {
    const prompt = `p${this.#messages++}`;
    const headers = { "x-flyto-provider-key": `key-${this.#name}`, "idempotency-key": `key-${prompt}` };
    for (let tries = 0; tries < 20; tries++) {
      const response = await this.#post("/messages", { provider: "anthropic", prompt, on_busy }, headers);
      if (response.status >= 500) continue;
      expect([200, 409]).toContain(response.status);
      if (response.status === 409) return;
      this.#taken.push(prompt);
      if (!this.#watched) return await response.body?.cancel();
      const stream = new SseReader(response);
      this.#streams.push(stream);
      void stream.toEnd().catch(() => undefined);
      return;
    }
    throw new Error("no clear answer to a message");
  }

  async #answer(allow: boolean): Promise<void> {
    const open = await call(`/v1/sessions/${this.#name}/permissions`).catch(() => undefined);
    if (!open?.ok) return;
    const { data } = (await open.json()) as { data: { id: string }[] };
    // Questions of a session are asked one after another.
    expect(data.length).toBeLessThanOrEqual(1);
    for (const { id } of data) await this.#reply(id, allow);
  }

  async #reply(id: string, allow: boolean): Promise<void> {
    this.#asked.add(id);
    const { status } = await this.#post(`/permissions/${id}`, { allow });
    if (status === 200) this.#accepted.set(id, (this.#accepted.get(id) ?? 0) + 1);
    else if (status < 500) expect([404, 409]).toContain(status);
  }

  #post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return post(`/v1/sessions/${this.#name}${path}`, body, headers).catch(() => new Response(null, { status: 503 }));
  }

  async #alarm(): Promise<void> {
    await runDurableObjectAlarm(objectOf(this.#name)).catch(() => undefined);
  }

  /** The alarm finds that six minutes have gone by. */
  async #pastDeadline(): Promise<void> {
    vi.useFakeTimers({ toFake: ["Date"] });
    // A question may have been put while the clock was ahead: further ahead each time.
    this.#ahead += 6 * 60_000;
    vi.setSystemTime(Date.now() + this.#ahead);
    await this.#alarm();
    vi.useRealTimers();
  }

  async #standing(): Promise<Standing> {
    return runInDurableObject(objectOf(this.#name), async (_, { storage }) => {
      const count = (sql: string) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`).one().n;
      return {
        open: count("log WHERE kind = 'run_started'") - count("log WHERE kind = 'run_ended'"),
        queued: count("queue"),
        pending: count("decisions WHERE state = 'pending'"),
        alarm: await storage.getAlarm(),
      };
    });
  }

  /** Nobody calls any more; the alarm alone brings everything to its end, questions by their deadlines. */
  async settled(): Promise<void> {
    await Promise.all(this.#going);
    let parked = 0;
    await vi.waitFor(
      async () => {
        const now = await this.#standing();
        if (now.open === 0 && now.queued === 0) return;
        // Parked or on its way: either way somebody comes back to it.
        if (now.alarm === null) throw new Error(`running without an owner: ${JSON.stringify(now)}`);
        if (now.pending > 0) parked++;
        await (now.pending > 0 ? this.#pastDeadline() : this.#alarm());
        throw new Error(`not at its end: ${JSON.stringify(now)}, parked ${parked} times`);
      },
      { timeout: 15_000, interval: 20 },
    );
  }

  async check(): Promise<void> {
    const history = await historyOf(this.#name);
    expect(unpaired(history)).toEqual([]);
    const prompts = history.flatMap(({ content }) =>
      content.flatMap((b) => (/^p\d+$/.exec(b.text ?? "") ? b.text : [])),
    );
    expect(prompts.sort()).toEqual(this.#taken.sort());
    for (const times of this.#accepted.values()) expect(times).toBe(1);
    for (const stream of this.#streams) {
      await vi.waitFor(() => expect(["done", "error"]).toContain(stream.seen.at(-1)?.type), { timeout: 5_000 });
      expect(stream.seen.filter(({ type }) => type === "done" || type === "error")).toHaveLength(1);
    }
    const ends = await runInDurableObject(objectOf(this.#name), (_, { storage }) =>
      storage.sql
        .exec<{ n: number }>(
          `SELECT (SELECT count(*) FROM events WHERE events.run_id = log.run_id AND type IN ('done', 'error')) AS n
           FROM log WHERE kind = 'run_started'`,
        )
        .toArray(),
    );
    expect(ends).toEqual(this.#taken.map(() => ({ n: 1 })));
    const file = await call(`/v1/sessions/${this.#name}/files/effects.txt`);
    const lines = file.ok
      ? new TextDecoder()
          .decode(await file.arrayBuffer())
          .trim()
          .split("\n")
      : [];
    // No call's effect happens twice.
    expect(new Set(lines).size).toBe(lines.length);
  }
}
