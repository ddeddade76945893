import { describe, expect, test } from "vitest";
import { SessionDriver } from "../../durable-objects/session-driver.ts";
import type { SessionJournal } from "../../durable-objects/session-journal.ts";
import type { SessionStore } from "../../durable-objects/session-store.ts";
import type { EngineEvent } from "../../src/contract/events.ts";
import type { Commit } from "../../src/contract/journal.ts";
import type { ModelProvider } from "../../src/contract/model.ts";
import type { Tool } from "../../src/contract/tools.ts";
import type { EngineDeps } from "../../src/engine/deps.ts";
import { SessionTree } from "../../src/engine/log/tree.ts";
import { createAgentTool } from "../../src/tools/agents/agent.ts";
import { calls, config, says, scripted, world } from "../unit/engine/world.ts";

/** A session's driver over a log in memory; `onCommit` may fail, or call back into the driver. */
function hosted(
  deps: EngineDeps,
  onCommit: (commit: Pick<Commit, "entries">, driver: SessionDriver) => void,
  engineReady: (count: number) => Promise<void> = async () => undefined,
) {
  let engines = 0;
  const tree = new SessionTree("/workspace");
  const events: EngineEvent[] = [];
  const journal = {
    tree,
    get fold() {
      return tree.root;
    },
    settle: () => undefined,
    live: (_: string, live: readonly EngineEvent[]) => void events.push(...live),
    announce: (_: string, closed: readonly EngineEvent[]) => void events.push(...closed),
    commit(_: string, commit: Commit) {
      onCommit(commit, driver);
      events.push(...commit.events);
      for (const entry of commit.entries) tree.append(entry);
    },
  } as unknown as SessionJournal; // what the driver uses of it
  const store = {
    queueLength: () => 0,
    transaction: <T>(work: () => T) => work(),
    dequeue: () => undefined,
  } as unknown as SessionStore; // the same
  const driver: SessionDriver = new SessionDriver({
    journal,
    store,
    engine: async () => {
      await engineReady(++engines);
      return { ok: true, value: deps };
    },
    hold: () => undefined,
    runMs: 1e12,
    changed: () => undefined,
    log: () => undefined,
  });
  const start = (): void => {
    driver.begin({ config: config(), content: [{ type: "text", text: "go" }] });
    driver.ensure();
  };
  return { driver, events, start };
}

describe("the driver of a session", () => {
  test("a step that cannot be stored stops all agents of the run", async () => {
    let open = 0;
    const provider: ModelProvider = {
      name: "scripted",
      models: () => [],
      async *stream(request, signal) {
        open++;
        try {
          if (JSON.stringify(request.messages[0]).includes('"A"')) {
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
            return;
          }
          const first = request.messages.length === 1;
          const input = { description: "A", prompt: "A", run_in_background: true };
          const reply = first ? calls({ id: "a", name: "Agent", input }) : says("BOOM");
          for (const event of reply) yield [event];
        } finally {
          open--;
        }
      },
    };
    const target = world(provider, [createAgentTool() as Tool]);
    const host = hosted(target.deps, ({ entries }) => {
      if (entries.some((entry) => entry.kind === "assistant" && JSON.stringify(entry).includes("BOOM")))
        throw new Error("the disk is full");
    });
    host.start();
    await expect.poll(() => host.driver.running).toBe(false);
    expect(host.events.at(-1)).toMatchObject({ type: "error", category: "internal" });
    expect(open).toBe(0);
  });

  test("a cancel does not wait for an engine that waits for other machines", async () => {
    const target = world(scripted([]).provider, []);
    const never = (count: number): Promise<void> => (count === 1 ? new Promise(() => undefined) : Promise.resolve());
    const host = hosted(target.deps, () => undefined, never);
    host.start();
    expect(await host.driver.cancel("stop")).toBe(true);
    expect(host.events.at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
  });

  test("a cancel at any moment of the run's end comes back", async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const target = world(scripted([says("hi")]).provider, []);
      let cancelled: Promise<boolean> | undefined;
      const host = hosted(target.deps, ({ entries }, driver) => {
        if (entries[0]?.kind !== "turn_ended") return;
        let wait = Promise.resolve();
        for (let i = 0; i < ticks; i++) wait = wait.then(() => undefined);
        cancelled = wait.then(() => driver.cancel("stop"));
      });
      host.start();
      await expect.poll(() => host.driver.running).toBe(false);
      expect(await cancelled, `${ticks} ticks`).toBeTypeOf("boolean");
      expect(host.events.filter(({ type }) => type === "done")).toHaveLength(1);
    }
  });
});
