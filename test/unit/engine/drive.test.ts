import { describe, expect, test } from "vitest";
import { EngineEvent } from "../../../src/contract/events.ts";
import { Entry } from "../../../src/contract/log.ts";
import type { ModelEvent } from "../../../src/contract/model.ts";
import {
  ALLOW,
  ASK,
  begin,
  calls,
  fakeTool,
  foldOf,
  run,
  Stopped,
  says,
  scripted,
  types,
  USAGE,
  world,
} from "./world.ts";

function eventsOf(target: ReturnType<typeof world>, type: string) {
  return target.events.filter((event) => event.type === type);
}

describe("the turn loop", () => {
  test("answers a prompt in one turn and ends with one done", async () => {
    // spec: E-1 E-2 E-9 E-10 E-11 T-1
    const script = scripted([says("hello")]);
    const target = world(script.provider, []);
    begin(target, "hi");
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(types(target)).toEqual(["turn_start", "text_delta", "text", "turn_end", "done"]);
    expect(eventsOf(target, "done")[0]).toMatchObject({
      total_input_tokens: 10,
      total_output_tokens: 5,
      total_tokens: 15,
      turn_count: 1,
      stop_reason: "end_turn",
      cost_usd: 0.000015,
    });
    for (const event of target.events) expect(EngineEvent.parse(event)).toEqual(event);
    for (const entry of target.log) expect(Entry.parse(entry)).toEqual(entry);
  });

  test("gives each tool call its result in the next request", async () => {
    // spec: T-1 T-2
    const tool = fakeTool("Look", { readOnly: true });
    const script = scripted([calls({ id: "a", name: "Look", input: { value: "1" } }), says("done")]);
    const target = world(script.provider, [tool]);
    begin(target, "hi");
    await run(target);
    expect(script.requests[1]?.messages.at(-1)).toEqual({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "a", content: "Look:1" }],
    });
    expect(types(target)).toEqual([
      "turn_start",
      "tool_use",
      "tool_result",
      "turn_end",
      "turn_start",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);
    expect(script.left()).toBe(0);
  });

  test("runs read-only calls side by side and others alone, in order", async () => {
    // spec: T-3
    const trace: string[] = [];
    const noting = (name: string, readOnly: boolean) =>
      fakeTool(name, {
        readOnly,
        run: async ({ value }) => {
          trace.push(`+${value}`);
          await new Promise((resolve) => setTimeout(resolve, value === "r1" ? 20 : 5));
          trace.push(`-${value}`);
          return { content: value ?? "", isError: false };
        },
      });
    const script = scripted([
      calls(
        { id: "1", name: "Read", input: { value: "r1" } },
        { id: "2", name: "Read", input: { value: "r2" } },
        { id: "3", name: "Write", input: { value: "w1" } },
        { id: "4", name: "Write", input: { value: "w2" } },
      ),
      says("ok"),
    ]);
    const target = world(script.provider, [noting("Read", true), noting("Write", false)]);
    begin(target, "hi");
    await run(target);
    expect(trace).toEqual(["+r1", "+r2", "-r2", "-r1", "+w1", "-w1", "+w2", "-w2"]);
    const results = script.requests[1]?.messages
      .at(-1)
      ?.content.map((block) => "tool_use_id" in block && block.tool_use_id);
    expect(results).toEqual(["1", "2", "3", "4"]);
  });

  test("stops at max_turns, with every call answered", async () => {
    // spec: T-6
    const script = scripted([calls({ id: "a", name: "Look", input: {} })]);
    const target = world(script.provider, [fakeTool("Look", { readOnly: true })]);
    begin(target, "hi", { max_turns: 1 });
    await run(target);
    expect(eventsOf(target, "done")).toMatchObject([{ stop_reason: "max_turns", turn_count: 1 }]);
    expect(eventsOf(target, "tool_result")).toHaveLength(1);
  });

  test("stops when the budget is spent", async () => {
    // spec: T-6
    const script = scripted([calls({ id: "a", name: "Look", input: {} })]);
    const target = world(script.provider, [fakeTool("Look", { readOnly: true })]);
    begin(target, "hi", { max_cost_usd: 0.00001 });
    await run(target);
    expect(eventsOf(target, "done")).toMatchObject([{ stop_reason: "budget" }]);
  });

  test("finds a stop sequence over delta borders and shows nothing of it", async () => {
    // spec: T-6
    const pieces = ["one EN", "", "D two"].map((text): ModelEvent => ({ type: "text_delta", text }));
    const script = scripted([[...pieces, ...says("ignored")]]);
    const target = world(script.provider, []);
    begin(target, "hi", { stop_sequences: ["END"] });
    await run(target);
    expect(eventsOf(target, "text")).toEqual([{ type: "text", text: "one " }]);
    expect(
      eventsOf(target, "text_delta")
        .map((e) => "text" in e && e.text)
        .join(""),
    ).toBe("one ");
    expect(eventsOf(target, "done")).toMatchObject([{ stop_reason: "stop_sequence" }]);
  });

  test("counts calls that end before the provider has counted them", async () => {
    // spec: E-11 T-6
    const failure = { category: "network", message: "cut", retryable: true } as const;
    const broken: ModelEvent[] = [
      { type: "text_delta", text: "so f" },
      { type: "failed", failure, usage: USAGE },
    ];
    const twice = world(scripted([broken, says("whole")]).provider, []);
    begin(twice, "hi");
    await run(twice);
    expect(eventsOf(twice, "done")).toMatchObject([
      { total_input_tokens: 2 * USAGE.input, total_output_tokens: 2 * USAGE.output },
    ]);
    const stopped = world(scripted([[{ type: "text_delta", text: "one END two" }]]).provider, []);
    begin(stopped, "hi", { stop_sequences: ["END"] });
    await run(stopped);
    const [done] = eventsOf(stopped, "done");
    if (done?.type !== "done") throw new Error("no done");
    expect(done.total_input_tokens).toBeGreaterThan(0);
    expect(done.total_output_tokens).toBeGreaterThan(0);
    expect(done.cost_usd).toBeGreaterThan(0);
  });

  test("shows a held-back prefix that turned out to be text", async () => {
    const script = scripted([[{ type: "text_delta", text: "the EN" }, ...says("the EN").slice(1)]]);
    const target = world(script.provider, []);
    begin(target, "hi", { stop_sequences: ["END"] });
    await run(target);
    expect(eventsOf(target, "text")).toEqual([{ type: "text", text: "the EN" }]);
    expect(eventsOf(target, "done")).toMatchObject([{ stop_reason: "end_turn" }]);
  });

  test("ends with one error when the model fails before anything was shown", async () => {
    // spec: E-12 T-5
    const failure = { category: "auth", message: "the key was refused", retryable: false } as const;
    const target = world(scripted([[{ type: "failed", failure }]]).provider, []);
    begin(target, "hi");
    await run(target);
    expect(types(target)).toEqual(["turn_start", "error"]);
    expect(target.events[1]).toEqual({
      type: "error",
      error: "the key was refused",
      category: "auth",
      retryable: false,
    });
  });

  test("takes back a broken turn once, then gives up", async () => {
    // spec: E-17 T-5
    const failure = { category: "network", message: "cut", retryable: true } as const;
    const broken: ModelEvent[] = [
      { type: "text_delta", text: "half" },
      { type: "failed", failure },
    ];
    const target = world(scripted([broken, says("whole")]).provider, []);
    begin(target, "hi");
    await run(target);
    expect(types(target)).toEqual([
      "turn_start",
      "text_delta",
      "turn_restart",
      "text_delta",
      "text",
      "turn_end",
      "done",
    ]);

    const twice = world(scripted([broken, broken]).provider, []);
    begin(twice, "hi");
    await run(twice);
    expect(types(twice)).toEqual(["turn_start", "text_delta", "turn_restart", "text_delta", "error"]);
  });

  test("denies unknown tools, unsound input and crashing checks, and the model reads why", async () => {
    const crash = { check: () => Promise.reject(new Error("boom")) };
    const script = scripted([
      calls(
        { id: "a", name: "Nope", input: {} },
        { id: "b", name: "Look", input: { value: 1 } },
        { id: "c", name: "Look", input: {} },
      ),
      says("ok"),
    ]);
    const tool = fakeTool("Look");
    const target = world(script.provider, [tool], crash);
    begin(target, "hi");
    await run(target);
    const outputs = eventsOf(target, "tool_result").map((event) => "output" in event && event.output);
    expect(outputs).toEqual([
      'error: unknown tool "Nope"',
      expect.stringContaining("error: invalid input for Look: value:"),
      "error: permission denied: the permission check failed",
    ]);
    expect(tool.ran).toEqual([]);
    expect(target.commits.flatMap((commit) => commit.audit)).toMatchObject([{ outcome: "blocked", tool_name: "Look" }]);
  });

  test("gives up a tool that does not end in time and goes on", async () => {
    const tool = fakeTool("Slow", { run: () => new Promise(() => undefined) });
    const script = scripted([calls({ id: "a", name: "Slow", input: {} }), says("ok")]);
    const base = world(script.provider, [tool]);
    const target = {
      ...base,
      deps: { ...base.deps, limits: { ...base.deps.limits, toolTimeoutMs: 5, toolGraceMs: 5 } },
    };
    begin(target, "hi");
    await run(target);
    expect(eventsOf(target, "tool_result")).toMatchObject([
      { is_error: true, output: expect.stringContaining("10 ms") },
    ]);
    expect(eventsOf(target, "done")).toHaveLength(1);
  });

  test("cuts long tool output and says where the whole is", async () => {
    // spec: T-7
    const tool = fakeTool("Loud", { readOnly: true, run: async () => ({ content: "é".repeat(5000), isError: false }) });
    const script = scripted([calls({ id: "a", name: "Loud", input: {} }), says("ok")]);
    const target = world(script.provider, [tool]);
    begin(target, "hi");
    await run(target);
    const [result] = eventsOf(target, "tool_result");
    const output = result?.type === "tool_result" ? result.output : "";
    expect(new TextEncoder().encode(output).length).toBeLessThanOrEqual(1024);
    expect(output).toContain("/workspace/.flyto/tool-output/run_1-1-a.txt");
    expect(output).not.toContain("\ufffd");
  });
});

describe("permission", () => {
  test("parks the run on a question and holds nothing", async () => {
    // spec: T-4 D-1 E-8
    const tool = fakeTool("Act");
    const script = scripted([calls({ id: "a", name: "Act", input: { value: "x" } }), says("ok")]);
    const target = world(script.provider, [tool], ASK);
    begin(target, "hi");
    expect(await run(target)).toEqual({ kind: "parked", deadline: 1_300_000 });
    expect(eventsOf(target, "permission_request")).toMatchObject([
      { id: "perm_1", tool_call_id: "a", tool_name: "Act" },
    ]);
    expect(await run(target)).toEqual({ kind: "parked", deadline: 1_300_000 });
    expect(eventsOf(target, "permission_request")).toHaveLength(1);

    target.log.push({
      kind: "decision_settled",
      decision_id: "perm_1",
      call_id: "a",
      allow: true,
      reason: "yes",
      by: "user",
    });
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(tool.ran).toEqual(["x"]);
  });

  test("runs an answer's rewritten input instead of the model's", async () => {
    // spec: D-1
    const tool = fakeTool("Act");
    const target = world(
      scripted([calls({ id: "a", name: "Act", input: { value: "x" } }), says("ok")]).provider,
      [tool],
      ASK,
    );
    begin(target, "hi");
    await run(target);
    const updated_input = { value: "y" };
    target.log.push({
      kind: "decision_settled",
      decision_id: "perm_1",
      call_id: "a",
      allow: true,
      reason: "",
      by: "user",
      updated_input,
    });
    await run(target);
    expect(tool.ran).toEqual(["y"]);
  });

  test("tells the model the reason of a denial and never runs the tool", async () => {
    const tool = fakeTool("Act");
    const script = scripted([calls({ id: "a", name: "Act", input: {} }), says("ok")]);
    const target = world(script.provider, [tool], ASK);
    begin(target, "hi");
    await run(target);
    target.log.push({
      kind: "decision_settled",
      decision_id: "perm_1",
      call_id: "a",
      allow: false,
      reason: "not today",
      by: "user",
    });
    await run(target);
    expect(tool.ran).toEqual([]);
    expect(JSON.stringify(script.requests[1]?.messages)).toContain("not today");
  });

  test("denies at once where nobody can be asked", async () => {
    // spec: H-2
    const script = scripted([calls({ id: "a", name: "Act", input: {} }), says("ok")]);
    const target = world(script.provider, [fakeTool("Act")], ASK);
    begin(target, "hi", { interactive: false });
    await run(target);
    expect(eventsOf(target, "permission_request")).toEqual([]);
    expect(eventsOf(target, "tool_result")).toMatchObject([
      { is_error: true, output: expect.stringContaining("stateless") },
    ]);
  });

  test("asks the questions of a turn one after another", async () => {
    const script = scripted([
      calls({ id: "a", name: "Act", input: {} }, { id: "b", name: "Act", input: {} }),
      says("ok"),
    ]);
    const target = world(script.provider, [fakeTool("Act")], ASK);
    begin(target, "hi");
    await run(target);
    expect(eventsOf(target, "permission_request")).toHaveLength(1);
    target.log.push({
      kind: "decision_settled",
      decision_id: "perm_1",
      call_id: "a",
      allow: true,
      reason: "",
      by: "user",
    });
    expect((await run(target)).kind).toBe("parked");
    expect(eventsOf(target, "permission_request")).toHaveLength(2);
  });
});

describe("cancel and recovery", () => {
  test("a cancelled run gives open calls a result and ends with done cancelled", async () => {
    // spec: T-2 E-11
    const target = world(scripted([calls({ id: "a", name: "Act", input: {} })]).provider, [fakeTool("Act")], ASK);
    begin(target, "hi");
    await run(target);
    target.log.push({ kind: "cancel", reason: "enough" });
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(types(target).slice(-2)).toEqual(["tool_result", "done"]);
    expect(eventsOf(target, "done")).toMatchObject([{ stop_reason: "cancelled" }]);
    expect(foldOf(target).messages.at(-1)?.content).toMatchObject([
      { type: "tool_result", tool_use_id: "a", is_error: true },
    ]);
  });

  test("an abort stops the model call and throws its reason", async () => {
    let aborted = false;
    const hanging = async function* (signal: AbortSignal) {
      yield [{ type: "text_delta", text: "x" } as const];
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted = true;
          reject(signal.reason);
        }),
      );
    };
    const controller = new AbortController();
    const target = world(scripted([hanging]).provider, []);
    begin(target, "hi");
    setTimeout(() => controller.abort(new Error("gone")), 5);
    await expect(run(target, { signal: controller.signal })).rejects.toThrow("gone");
    expect(aborted).toBe(true);
  });

  test("stopped after any stored step, the run ends the same and no effect happens twice", async () => {
    // spec: E-30 T-2 — the crash matrix of the pure loop
    const script = () => [
      [
        { type: "text_delta", text: "let me " },
        ...calls({ id: "r1", name: "Read", input: { value: "1" } }, { id: "r2", name: "Read", input: { value: "2" } }),
      ] as ModelEvent[],
      calls({ id: "w", name: "Write", input: { value: "w" } }),
      says("all done"),
    ];
    const whole = world(scripted(script()).provider, [fakeTool("Read", { readOnly: true }), fakeTool("Write")], ALLOW);
    begin(whole, "hi");
    await run(whole);
    const steps = whole.commits.length;
    expect(steps).toBeGreaterThan(10);
    for (let at = 1; at < steps; at++) {
      const replies = script();
      const writes = fakeTool("Write");
      // A call that broke off is made again: the script repeats the reply whose turn had not been stored.
      const provider = scripted([]).provider;
      const target = world(
        { ...provider, stream: replay(replies, () => foldOf(target).run?.turn ?? 1) },
        [fakeTool("Read", { readOnly: true }), writes],
        ALLOW,
      );
      begin(target, "hi");
      await run(target, { stopAfter: at }).catch((error) => expect(error).toBeInstanceOf(Stopped));
      expect(await run(target)).toEqual({ kind: "ended" });
      expect(writes.ran.length).toBeLessThanOrEqual(1);
      const lost = foldOf(target).messages.some((message) => JSON.stringify(message).includes("unknown"));
      if (!lost) expect(foldOf(target).messages).toEqual(foldOf(whole).messages);
      expect(eventsOf(target, "done")).toHaveLength(1);
    }
  });
});

function replay(replies: ModelEvent[][], turn: () => number) {
  return async function* () {
    for (const event of replies[turn() - 1] ?? []) yield [event];
  };
}
