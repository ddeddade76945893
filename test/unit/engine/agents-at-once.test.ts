import { describe, expect, test } from "vitest";
import type { PermissionCall, PermissionPolicy, PermissionVerdict } from "../../../src/contract/permission.ts";
import type { Tool } from "../../../src/contract/tools.ts";
import { createDreamTool } from "../../../src/tools/agents/dream.ts";
import {
  AGENT,
  agent,
  eventsOf,
  expectPaired,
  lastOf,
  message,
  modelOf,
  opening,
  SEND,
  TEAM,
  team,
} from "./agent-world.ts";
import { begin, calls, fakeTool, run, says, treeOf, world } from "./world.ts";

// The tool as the engine sees it; its input is checked by its schema.
const DREAM = createDreamTool() as Tool;
const LOOK = () => fakeTool("Look", { readOnly: true });
const look = (id: string) => ({ id, name: "Look", input: {} });

const YES: PermissionVerdict = { decision: "allow", reason: "", risk: "low" };

/** Lets other work that is ready go first, so many times. */
async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await undefined;
}

/** Allows everything, but holds calls that name one of these words until so many have come. */
function together(words: readonly string[], need: number): PermissionPolicy {
  const waiting: (() => void)[] = [];
  return {
    async check({ input }) {
      if (words.some((word) => JSON.stringify(input).includes(word))) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length === need) for (const go of waiting) go();
        });
      }
      return YES;
    },
  };
}

describe("agents that act at the same moment", () => {
  test("two that start an agent each get one of their own", async () => {
    const { provider } = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "A"), agent("b", "B")) : says("done");
      if (prompt === "A") return turn === 0 ? calls(agent("x", "under A")) : says("A ends");
      if (prompt === "B") return turn === 0 ? calls(agent("y", "under B")) : says("B ends");
      return says(`I am ${prompt}`);
    });
    const target = world(provider, [AGENT], together(["under A", "under B"], 2));
    begin(target, "go");
    await run(target);
    const ids = eventsOf(target, "subagent_start").map(({ subagent_id }) => subagent_id);
    expect([...ids].sort()).toEqual(["sa-1", "sa-2", "sa-3", "sa-4"]);
    const ends = eventsOf(target, "subagent_end").map(({ result }) => result);
    expect([...ends].sort()).toEqual(["A ends", "B ends", "I am under A", "I am under B"]);
  });

  test("two that wake one teammate wake it once, and it reads both", async () => {
    const { provider } = modelOf((prompt, turn, request) => {
      const last = lastOf(request);
      if (prompt === "go") {
        if (turn === 0) return calls(team("t", "mate"));
        if (turn === 1) return says("wait for it");
        return turn === 2 ? calls(agent("a", "A"), agent("b", "B")) : says("done");
      }
      if (prompt === "A" || prompt === "B")
        return turn === 0 ? calls(message(`s${prompt}`, "mate", `hello from ${prompt}`)) : says("sent");
      return last.includes("hello") ? calls(look(`l${turn}`)) : says("mate rests");
    });
    const target = world(provider, [AGENT, TEAM, SEND, LOOK()], together(["hello from"], 2));
    begin(target, "go");
    await run(target);
    const count = (type: "subagent_start" | "subagent_end") =>
      eventsOf(target, type).filter(({ subagent_id }) => subagent_id === "sa-1").length;
    expect([count("subagent_start"), count("subagent_end")]).toEqual([2, 2]);
    const read = JSON.stringify(treeOf(target).foldOf("sa-1")?.messages);
    expect(read).toContain("hello from A");
    expect(read).toContain("hello from B");
    expectPaired(target);
  });

  test("a message to one that is just ending is not lost", async () => {
    let woken = 0;
    for (let late = 0; late < 60; late++) {
      const gate = Promise.withResolvers<void>();
      const { provider } = modelOf(
        (prompt, turn) => {
          if (prompt === "go") return turn === 0 ? calls(team("t", "x", "y")) : says("ok");
          if (prompt.includes("You are x")) return turn === 0 ? calls(message("s", "y", "PING")) : says("x ends");
          return says("y ends");
        },
        async (request) => {
          if (opening(request).includes("You are y")) await gate.promise;
        },
      );
      const policy: PermissionPolicy = {
        async check({ toolName }) {
          if (toolName !== "SendMessage") return YES;
          gate.resolve();
          await ticks(late);
          return YES;
        },
      };
      const target = world(provider, [TEAM, SEND], policy);
      begin(target, "go");
      await run(target);
      const fold = treeOf(target).foldOf("sa-2");
      expect(fold?.inbox, `${late} ticks`).toEqual([]);
      expect(JSON.stringify(fold?.messages), `${late} ticks`).toContain("PING");
      const starts = eventsOf(target, "subagent_start").filter(({ subagent_id }) => subagent_id === "sa-2");
      if (starts.length > 1) woken++;
    }
    // The offsets reach over the whole of its end: some find it at work, some have to wake it.
    expect(woken).toBeGreaterThan(0);
    expect(woken).toBeLessThan(60);
  });

  test("done counts what an agent spent that was cut off", async () => {
    const inTime = new Set<boolean>();
    for (let late = 0; late < 60; late++) {
      const gate = Promise.withResolvers<void>();
      const { provider } = modelOf(
        (prompt, turn) => {
          if (prompt !== "go") return says("child");
          if (turn === 0) return calls(agent("a", "A", { run_in_background: true }));
          gate.resolve();
          return says("cut", { stop: "max_tokens" });
        },
        async (request) => {
          if (opening(request) !== "A") return;
          await gate.promise;
          await ticks(late);
        },
      );
      const target = world(provider, [AGENT]);
      begin(target, "go");
      await run(target);
      const spent = treeOf(target).spend.usage.input;
      expect(eventsOf(target, "done")[0]?.total_input_tokens, `${late} ticks`).toBe(spent);
      // Two calls of the root, and the child's where it was stored in time.
      inTime.add(spent === 30);
    }
    expect([...inTime].sort()).toEqual([false, true]);
  });
});

describe("agents and those who start them", () => {
  test("a teammate that is woken works under the run that wakes it", async () => {
    const seen: Pick<PermissionCall, "mode" | "rules">[] = [];
    const { provider } = modelOf((prompt, turn, request) => {
      const last = lastOf(request);
      if (prompt === "go") {
        if (last.includes("second")) return calls(message("s2", "mate", "write"));
        return turn === 0 ? calls(team("t", "mate")) : says("ok");
      }
      return last.includes("write") ? calls({ id: "w", name: "Write", input: { value: "1" } }) : says("idle");
    });
    const policy: PermissionPolicy = {
      async check({ toolName, mode, rules }) {
        if (toolName === "Write") seen.push({ mode, rules });
        return YES;
      },
    };
    const target = world(provider, [TEAM, SEND, fakeTool("Write")], policy);
    begin(target, "go", { permission_mode: "bypass" });
    await run(target);
    const rules = { deny: ["Write"] };
    begin(target, "second", { run_id: "run_2", permission_mode: "plan", model: "m2", actor_id: "bob", rules });
    await run(target);
    expect(seen[0]).toEqual({ mode: "plan", rules });
    expect(treeOf(target).foldOf("sa-1")?.run?.config).toMatchObject({ run_id: "run_2", actor_id: "bob" });
  });

  test("one that is woken by another than its maker is waited for", async () => {
    const { provider } = modelOf((prompt, turn, request) => {
      const last = lastOf(request);
      if (prompt === "go") {
        if (turn === 0) return calls(agent("a", "A"));
        return turn === 1 ? calls(message("s", "mate", "work more")) : says("root ends");
      }
      if (prompt === "A") return turn === 0 ? calls(team("t", "mate")) : says("A");
      return last.includes("work more") ? calls(look("l")) : says("mate done");
    });
    const target = world(provider, [AGENT, TEAM, SEND, LOOK()]);
    begin(target, "go");
    await run(target);
    expect(eventsOf(target, "subagent_end").at(-1)).toMatchObject({ status: "completed", result: "mate done" });
  });

  test("a budget binds those below, too", async () => {
    let asked = 0;
    const { provider } = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "A", { max_cost_usd: 0.00004 })) : says("ok");
      if (prompt === "A") return turn === 0 ? calls(agent("b", "B")) : says("A");
      asked++;
      return turn < 8 ? calls(look(`l${turn}`)) : says("B");
    });
    const target = world(provider, [AGENT, LOOK()]);
    begin(target, "go");
    await run(target);
    // 15,000 nano-dollars a call: A's own, and two of B's, pass 40,000.
    expect(asked).toBe(2);
  });

  test("a model that may not be used is not to be had through an agent", async () => {
    const { provider } = modelOf((_, turn) => (turn === 0 ? calls(agent("a", "A", { model: "dear" })) : says("ok")));
    const target = world(provider, [AGENT]);
    begin(target, "go", { allowed_models: ["m"] });
    await run(target);
    expect(eventsOf(target, "subagent_start")).toEqual([]);
    expect(eventsOf(target, "tool_result")[0]?.output).toContain("dear");
  });

  test("dreaming waits while an agent in the foreground works", async () => {
    const order: string[] = [];
    const { provider } = modelOf((prompt, turn) => {
      if (prompt === "go")
        return turn === 0 ? calls({ id: "d", name: "Dream", input: { about: "x" } }, agent("a", "A")) : says("ok");
      order.push(prompt === "A" ? `A${turn}` : "dream");
      return prompt === "A" && turn < 3 ? calls(look(`l${turn}`)) : says("over");
    });
    const target = world(provider, [AGENT, DREAM, LOOK()]);
    begin(target, "go");
    await run(target);
    expect(order).toEqual(["A0", "A1", "A2", "A3", "dream"]);
  });

  test("an agent whose tool takes the object down is given up in the end", async () => {
    // user report S8
    const { provider } = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "A")) : says("done");
      return turn === 0 ? calls(look("l")) : says("A ends");
    });
    const tool = LOOK();
    const target = world(provider, [AGENT, tool]);
    for (let at = 1; target.log.at(-1)?.kind !== "tool_started"; at++) {
      target.log.length = 0;
      target.events.length = 0;
      begin(target, "go");
      await run(target, { stopAfter: at }).catch(() => undefined);
    }
    for (let i = 0; i < 6; i++) target.log.push({ kind: "run_resumed" });
    const before = tool.ran.length;
    await run(target);
    expect(tool.ran.length).toBe(before);
    expect(eventsOf(target, "subagent_end")).toMatchObject([{ status: "failed" }]);
    expect(eventsOf(target, "done")).toHaveLength(1);
  });
});
