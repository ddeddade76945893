import { describe, expect, test } from "vitest";
import { EngineEvent } from "../../../src/contract/events.ts";
import { Entry } from "../../../src/contract/log.ts";
import { AGENT, agent, eventsOf, expectPaired, lastOf, message, modelOf, SEND, TEAM } from "./agent-world.ts";
import { ASK, begin, calls, fakeTool, run, Stopped, says, treeOf, USAGE, world } from "./world.ts";

describe("sub-agents", () => {
  test("a foreground agent's last words are the call's result, and its cost is the run's", async () => {
    // spec: K-3 E-13 E-14 E-15
    const look = fakeTool("Look", { readOnly: true });
    const model = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "find it")) : says("all done");
      return turn === 0 ? calls({ id: "l", name: "Look", input: { value: "x" } }) : says("it is there");
    });
    const target = world(model.provider, [AGENT, look]);
    begin(target, "go");
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(eventsOf(target, "subagent_start")).toEqual([
      {
        type: "subagent_start",
        subagent_id: "sa-1",
        description: "find it",
        cwd: "/workspace",
        model: "m",
        start_time_ms: 1_000_000,
      },
    ]);
    expect(eventsOf(target, "subagent_event")).toContainEqual({
      type: "subagent_event",
      subagent_id: "sa-1",
      event_type: "tool_use",
      id: "l",
      tool_name: "Look",
      name: "Look",
      input: { value: "x" },
    });
    expect(eventsOf(target, "subagent_end")).toEqual([
      { type: "subagent_end", subagent_id: "sa-1", duration_ms: 0, status: "completed", result: "it is there" },
    ]);
    expect(eventsOf(target, "tool_result")).toMatchObject([{ id: "a", output: "it is there", is_error: false }]);
    expect(eventsOf(target, "done")).toMatchObject([
      { total_input_tokens: 40, total_output_tokens: 20, turn_count: 2 },
    ]);
    expectPaired(target);
    for (const event of target.events) expect(EngineEvent.parse(event)).toEqual(event);
    for (const entry of target.log) expect(Entry.parse(entry)).toEqual(entry);
  });

  test("sends the parent's prompt and tools byte for byte, and filters calls at run time", async () => {
    // spec: K-3
    const write = fakeTool("Write");
    const model = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "read only", { tools: ["Read"] })) : says("ok");
      return turn === 0 ? calls({ id: "w", name: "Write", input: {} }) : says("could not");
    });
    const tools = [AGENT, write];
    const definitions = tools.map(({ name }) => ({ name, description: name, inputSchema: {} }));
    const target = world(model.provider, tools, undefined, { toolDefinitions: definitions });
    begin(target, "go");
    await run(target);
    const prefixes = model.requests.map(({ system, tools: sent }) => JSON.stringify([system, sent]));
    expect(new Set(prefixes).size).toBe(1);
    expect(prefixes.length).toBe(4);
    expect(write.ran).toEqual([]);
    const refusal = eventsOf(target, "subagent_event").find(({ event_type }) => event_type === "tool_result");
    expect(refusal).toMatchObject({
      is_error: true,
      output: "error: Write is not available to this agent; it may use Read",
    });
  });

  test("several agents and the parent's own tools work at once and never mix their calls", async () => {
    const look = fakeTool("Look", { readOnly: true });
    const model = modelOf((prompt, turn) => {
      if (prompt === "go")
        return turn === 0
          ? calls(agent("a", "one"), { id: "p", name: "Look", input: { value: "parent" } }, agent("b", "two"))
          : says("ok");
      // Both agents use the same call ids: they are their own.
      return turn === 0 ? calls({ id: "x", name: "Look", input: { value: prompt } }) : says(`${prompt} done`);
    });
    const target = world(model.provider, [AGENT, look]);
    begin(target, "go");
    await run(target);
    expect([...look.ran].sort()).toEqual(["one", "parent", "two"]);
    expect(model.most()).toBeGreaterThan(1);
    const results = Object.fromEntries(eventsOf(target, "tool_result").map(({ id, output }) => [id, output]));
    expect(results).toEqual({ a: "one done", b: "two done", p: "Look:parent" });
    expectPaired(target);
  });

  test("a question two levels down is asked on the root stream and answered there", async () => {
    // spec: S4 D-5
    const write = fakeTool("Write");
    const model = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "middle")) : says("ok");
      if (prompt === "middle") return turn === 0 ? calls(agent("b", "deep")) : says("middle done");
      return turn === 0 ? calls({ id: "w", name: "Write", input: { value: "v" } }) : says("deep done");
    });
    const target = world(model.provider, [AGENT, write], ASK);
    begin(target, "go");
    expect(await run(target)).toEqual({ kind: "parked", deadline: 1_300_000 });
    const [question] = eventsOf(target, "permission_request");
    expect(question).toMatchObject({ tool_name: "Write", subagent_id: "sa-2", tool_call_id: "w" });
    const asked = target.log.find((entry) => entry.kind === "decision_asked");
    if (asked?.kind !== "decision_asked") throw new Error("asked");
    const { agent: owner, decision_id, call_id } = asked;
    target.log.push({
      kind: "decision_settled",
      ...(owner ? { agent: owner } : {}),
      ...{ decision_id, call_id, allow: true, reason: "yes", by: "user" as const },
    });
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(write.ran).toEqual(["v"]);
    expect(eventsOf(target, "permission_request")).toHaveLength(1);
    expect(eventsOf(target, "tool_result")).toMatchObject([{ id: "a", output: "middle done" }]);
  });

  test("a cancel reaches every agent, also one that waits for an answer", async () => {
    const write = fakeTool("Write");
    const model = modelOf((prompt, turn) => {
      if (prompt === "go") return turn === 0 ? calls(agent("a", "middle")) : says("ok");
      if (prompt === "middle") return turn === 0 ? calls(agent("b", "deep")) : says("middle done");
      return calls({ id: "w", name: "Write", input: {} });
    });
    const target = world(model.provider, [AGENT, write], ASK);
    begin(target, "go");
    await run(target);
    target.log.push({ kind: "cancel", reason: "enough" });
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(eventsOf(target, "subagent_end")).toMatchObject([
      { subagent_id: "sa-2", status: "cancelled" },
      { subagent_id: "sa-1", status: "cancelled" },
    ]);
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
    expect(treeOf(target).working()).toEqual([]);
    expectPaired(target);
  });

  test("agents nest three deep and no deeper", async () => {
    const model = modelOf((prompt, turn) => {
      const depth = prompt === "go" ? 0 : Number(prompt);
      if (turn === 0) return calls(agent(`c${depth}`, String(depth + 1)));
      return says(`done ${depth}`);
    });
    const target = world(model.provider, [AGENT]);
    begin(target, "go");
    await run(target);
    expect(eventsOf(target, "subagent_start")).toHaveLength(3);
    const all = JSON.stringify(target.events);
    expect(all).toContain("agents nest at most 3 deep");
  });

  test("a background agent's result comes as a message, and the run waits for it", async () => {
    // spec: E-16
    const model = modelOf((prompt, turn, request) => {
      if (prompt !== "go") return says("found 3");
      if (turn === 0) return calls(agent("a", "count", { run_in_background: true }));
      if (turn === 1) return says("waiting");
      return says(lastOf(request).includes("found 3") ? "it is 3" : "nothing came");
    });
    const target = world(model.provider, [AGENT]);
    begin(target, "go");
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(eventsOf(target, "inbox_message")).toEqual([{ type: "inbox_message", from: "sa-1", text: "found 3" }]);
    expect(eventsOf(target, "text").at(-1)?.text).toBe("it is 3");
    expect(eventsOf(target, "done")).toHaveLength(1);
  });

  test("teammates write to each other; one that has ended wakes with a message", async () => {
    const model = modelOf((prompt, turn, request) => {
      const last = lastOf(request);
      if (prompt === "go") {
        if (turn === 0)
          return calls({ id: "t", name: "Team", input: { members: [{ name: "ann", task: "wait for me" }] } });
        if (turn === 1) return says("team is up");
        if (last.includes("ready")) return calls(message("s", "ann", "what is 6*7?"));
        return says(last.includes("42") ? "ann says 42" : "hm");
      }
      return says(last.includes("6*7") ? "42" : "ready");
    });
    const target = world(model.provider, [TEAM, SEND]);
    begin(target, "go");
    await run(target);
    expect(eventsOf(target, "teammate_message")).toEqual([
      { type: "teammate_message", from: "lead", to: "ann", text: "what is 6*7?" },
    ]);
    expect(eventsOf(target, "subagent_end")).toHaveLength(2);
    expect(eventsOf(target, "text").at(-1)?.text).toBe("ann says 42");
    expectPaired(target);
  });

  test("fifty agents under a cap never spend more than one call's worst case over it", async () => {
    // spec: T-6
    const cap = 0.05;
    // Every answer is as long as it may be: 500 tokens at 1,000 nano-dollars.
    const usage = { ...USAGE, input: 1, output: 500 };
    const model = modelOf((prompt, turn) => {
      if (prompt === "go")
        return turn === 0 ? calls(...Array.from({ length: 50 }, (_, i) => agent(`a${i}`, `task ${i}`))) : says("ok");
      return turn < 3
        ? [
            ...calls({ id: `l${turn}`, name: "Look", input: {} }).slice(0, -1),
            { type: "finished", stop: "tool_use", usage },
          ]
        : says("done", { usage });
    });
    const target = world(model.provider, [AGENT, fakeTool("Look", { readOnly: true })], undefined, {});
    // The cap is met after some 100 of 200 calls.
    begin(target, "go", { max_cost_usd: cap });
    await run(target);
    const { costNano } = treeOf(target).spend;
    const worst = 0.0007;
    expect(costNano / 1e9).toBeGreaterThan(cap - worst);
    expect(costNano / 1e9).toBeLessThanOrEqual(cap + worst);
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "budget" });
    expectPaired(target);
  });
});

describe("recovery of sub-agents", () => {
  const script = (effects: string[]) => {
    const model = modelOf((prompt, turn) => {
      if (prompt === "go") {
        if (turn === 0) return calls(agent("a", "one"), agent("b", "back", { run_in_background: true }));
        return says(`answer ${turn}`);
      }
      if (turn === 0) return calls({ id: "w", name: "Write", input: { value: prompt } });
      return says(`${prompt} done`);
    });
    const write = fakeTool("Write", {
      run: async ({ value }) => {
        effects.push(value ?? "");
        return { content: `wrote ${value}`, isError: false };
      },
    });
    return { model, tools: [AGENT, write] };
  };

  test("goes on from every stored step, does nothing twice and ends the same", async () => {
    const calm: string[] = [];
    const { model, tools } = script(calm);
    const undisturbed = world(model.provider, tools);
    begin(undisturbed, "go");
    await run(undisturbed);
    const points = undisturbed.commits.length;
    expect(points).toBeGreaterThan(15);
    for (let at = 1; at <= points; at++) {
      const effects: string[] = [];
      const again = script(effects);
      const target = world(again.model.provider, again.tools);
      begin(target, "go");
      const stopped = await run(target, { stopAfter: at }).catch((error: unknown) => error);
      if (!(stopped instanceof Stopped)) expect(stopped).toEqual({ kind: "ended" });
      expect(await run(target), `after step ${at}`).toEqual({ kind: "ended" });
      const done = target.events.filter((event) => event.type === "done" || event.type === "error");
      expect(done, `after step ${at}`).toMatchObject([{ type: "done", stop_reason: "end_turn" }]);
      expect(
        eventsOf(target, "subagent_end").map(({ status }) => status),
        `after step ${at}`,
      ).toEqual(["completed", "completed"]);
      expect(new Set(effects).size, `after step ${at}`).toBe(effects.length);
      expectPaired(target);
    }
  });
});
