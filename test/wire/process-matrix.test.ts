import { afterAll, beforeAll, expect, test } from "vitest";
import { folded } from "../support/folded.ts";
import { type SseEvent, SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { Wire } from "./support/client.ts";

/** What is shown of a tool whose owner died before its result was stored. */
const UNKNOWN = /^tool_result:error: the tool was started, but the engine was interrupted/;
/** Takes a while, so that some of the kills strike while it runs. */
const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> effects.txt; sleep 0.15" } };
const READS = [
  { id: "r1", name: "Glob", input: { pattern: "*" } },
  { id: "r2", name: "Grep", input: { pattern: "x" } },
];
/** Rounds of a kill, and sessions that are each at another moment of the same run when it strikes. */
const ROUNDS = 5;
const SESSIONS = 4;
/** A message and the one after it. */
const RUNS = 2;
/** About how long one undisturbed run takes, milliseconds. */
const SPAN = 700;

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.start();
});
afterAll(() => wire?.close());

test("killed at 20 random moments, every run ends once, without a gap, and its effect happens at most once", async () => {
  // spec: E-30
  const undisturbed = await Client.begin("still");
  await undisturbed.ended;
  const expected = runByRun(undisturbed.seen);
  const WRITTEN = expected[expected.findIndex((line) => line.startsWith("permission_request")) + 1];
  let interrupted = 0;
  let restarts = 0;
  const random = seeded(20_261_201);
  for (let round = 0; round < ROUNDS; round++) {
    const clients: Promise<Client>[] = [];
    for (let i = 0; i < SESSIONS; i++) {
      clients.push(Client.begin(`kill-${round}-${i}`));
      await new Promise((resolve) => setTimeout(resolve, (random() * SPAN) / SESSIONS));
    }
    const begun = await Promise.all(clients);
    await wire.killAndRestart();
    await Promise.all(begun.map((client) => client.ended));
    for (const client of begun) {
      const view = runByRun(client.seen);
      const effects = await client.effects();
      // The run and the message after it: each has its one end, and the last thing seen is one.
      expect.soft(client.ends(), client.name).toEqual(["done", "done"]);
      expect.soft(effects, client.name).toMatch(/^(hi\n)?$/);
      expect.soft(await client.replayed(), client.name).toEqual(view);
      const lost = view.filter((line) => UNKNOWN.test(line));
      if (lost.length > 0) interrupted++;
      if (client.seen.some(({ type }) => type === "turn_restart")) restarts++;
      // Only the tool that writes may be left with an unknown outcome; all else is as if nothing had happened.
      expect.soft(lost.length, client.name).toBeLessThanOrEqual(1);
      const known = view.map((line) => (UNKNOWN.test(line) ? WRITTEN : line));
      expect.soft(known, client.name).toEqual(expected);
      if (lost.length === 0) expect.soft(effects, client.name).toBe("hi\n");
    }
  }
  console.log(
    `${ROUNDS * SESSIONS} moments of a kill, ${interrupted} of them inside the tool that writes, ${restarts} in a model call`,
  );
}, 120_000);

/** A client that starts a run, answers its question, and comes back with its last id whenever the stream breaks. */
class Client {
  readonly name: string;
  readonly seen: SseEvent[] = [];
  readonly ended: Promise<void>;

  private constructor(name: string) {
    this.name = name;
    this.ended = this.#follow();
  }

  static async begin(name: string): Promise<Client> {
    const everyMs = 8;
    await wire.session(name, [
      anthropicTurn({ thinking: "let me look", text: "Looking around first.", calls: READS }, { everyMs }),
      anthropicTurn({ calls: [WRITE] }, { everyMs }),
      anthropicTurn({ text: "All done." }, { everyMs }),
      anthropicTurn({ text: "You are welcome." }, { everyMs }),
    ]);
    wire.upstream.replyByTurn(name);
    const stream = await wire.send(name, { prompt: "go" });
    void stream.toEnd().catch(() => undefined);
    // Waits behind the first run, so that it is on the disk when the kill comes.
    const next = await wire.send(name, { prompt: "thank you", on_busy: "queue" });
    void next.toEnd().catch(() => undefined);
    return new Client(name);
  }

  ends(): string[] {
    return this.seen.map(({ type }) => type).filter(isEnd);
  }

  /** What a client that comes new now is shown of the whole: nothing may be missing from what was seen live. */
  async replayed(): Promise<string[]> {
    const reader = new SseReader(await wire.call(`/v1/sessions/${this.name}/events`));
    while (reader.seen.map(({ type }) => type).filter(isEnd).length < RUNS && (await reader.next()));
    await reader.cancel();
    return runByRun(reader.seen);
  }

  async effects(): Promise<string> {
    const file = await wire.call(`/v1/sessions/${this.name}/files/effects.txt`);
    return file.status === 404 ? "" : new TextDecoder().decode(await file.arrayBuffer());
  }

  async #follow(): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!(await this.#once().catch(() => false))) {
      if (Date.now() > deadline) throw new Error(`${this.name} never ended: ${folded(this.seen).join(" | ")}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Reads on from the last id; true when both runs have ended. */
  async #once(): Promise<boolean> {
    const last = this.seen.at(-1)?.id ?? 0;
    const headers = { "last-event-id": String(last) };
    const reader = new SseReader(await wire.call(`/v1/sessions/${this.name}/events`, { headers }));
    for (let event = await reader.next(); event; event = await reader.next()) {
      expect(event.id).toBeGreaterThan(this.seen.at(-1)?.id ?? 0);
      this.seen.push(event);
      if (event.type === "permission_request") void this.#answer(event.data.id);
      if (this.ends().length < RUNS) continue;
      await reader.cancel();
      return true;
    }
    return false;
  }

  /** Until the server has taken it: it may be dead just now. */
  async #answer(id: unknown): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const status = await wire.answer(this.name, id, true).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200 || status === 409 || status === 404) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** What a client makes of each run, in the order of their ends: a frame of the queued one may fall between any two. */
function runByRun(seen: readonly SseEvent[]): string[] {
  const ended = seen.filter(({ type }) => isEnd(type)).map(({ data }) => data.run_id);
  return ended.flatMap((run) => folded(seen.filter(({ data }) => data.run_id === run)));
}

function isEnd(type: string): boolean {
  return type === "done" || type === "error";
}

/** A small generator with a seed (mulberry32), so that a failing run can be had again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
