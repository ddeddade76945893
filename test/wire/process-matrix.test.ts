import { afterAll, beforeAll, expect, test } from "vitest";
import { folded } from "../support/folded.ts";
import { type SseEvent, SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { Wire } from "./support/client.ts";

const WRITE = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> effects.txt" } };
const READS = [
  { id: "r1", name: "Glob", input: { pattern: "*" } },
  { id: "r2", name: "Grep", input: { pattern: "x" } },
];
/** Rounds of a kill, and sessions that are each at another moment of the same run when it strikes. */
const ROUNDS = 5;
const SESSIONS = 4;
/** About how long one undisturbed run takes, milliseconds. */
const SPAN = 500;

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.start();
});
afterAll(() => wire?.close());

test("killed at 20 random moments, every run ends once, without a gap, and its effect happens at most once", async () => {
  // spec: E-30
  const undisturbed = await Client.begin("still");
  await undisturbed.ended;
  const expected = folded(undisturbed.seen);
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
      const view = folded(client.seen);
      const effects = await client.effects();
      expect.soft(client.seen.filter(({ type }) => type === "done" || type === "error").length, client.name).toBe(1);
      expect.soft(client.seen.at(-1)?.type, client.name).toBe("done");
      expect.soft(effects, client.name).toMatch(/^(hi\n)?$/);
      if (view.some((line) => line.includes("unknown"))) continue;
      expect.soft(view, client.name).toEqual(expected);
      expect.soft(effects, client.name).toBe("hi\n");
    }
  }
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
    ]);
    wire.upstream.replyByTurn(name);
    const stream = await wire.send(name, { prompt: "go" });
    void stream.toEnd().catch(() => undefined);
    return new Client(name);
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

  /** Reads on from the last id; true when the run has ended. */
  async #once(): Promise<boolean> {
    const last = this.seen.at(-1)?.id ?? 0;
    const headers = { "last-event-id": String(last) };
    const reader = new SseReader(await wire.call(`/v1/sessions/${this.name}/events`, { headers }));
    for (let event = await reader.next(); event; event = await reader.next()) {
      expect(event.id).toBeGreaterThan(this.seen.at(-1)?.id ?? 0);
      this.seen.push(event);
      if (event.type === "permission_request") void this.#answer(event.data.id);
      if (event.type !== "done" && event.type !== "error") continue;
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
