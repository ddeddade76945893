import { describe, expect, test } from "vitest";
import type { CachePrefix } from "../../../src/contract/prompt-parts.ts";
import type { EngineDeps } from "../../../src/engine/deps.ts";
import { createClassifier } from "../../../src/permission/classifier.ts";
import { cacheBreak } from "../../../src/prompts/index.ts";
import { createRedactor } from "../../../src/secrets/redactor/redactor.ts";
import { ALLOW, ASK, begin, calls, fakeTool, run, says, scripted, treeOf, type World, world } from "./world.ts";

function eventsOf(target: World, type: string) {
  return target.events.filter((event) => event.type === type);
}

function settle(target: World, allow: boolean, by: "user" | "timeout" = "user"): void {
  const asked = target.log.findLast((entry) => entry.kind === "decision_asked");
  if (asked?.kind !== "decision_asked") throw new Error("nothing was asked");
  const { decision_id, call_id } = asked;
  target.log.push({ kind: "decision_settled", decision_id, call_id, allow, reason: "because", by });
}

describe("the audit of a call", () => {
  // spec: S-4 D-1
  const shell = () => ({ ...fakeTool("Shell"), resource: (input: unknown) => (input as { value: string }).value });
  const script = (value: string) => scripted([calls({ id: "a", name: "Shell", input: { value } }), says("ok")]);
  const audited = (target: World) => target.commits.flatMap(({ audit }) => audit);

  test("names the input that was judged where an answer's own is denied", async () => {
    let denies = false;
    const permission = {
      check: async () => ({ decision: denies ? "deny" : "ask", reason: "test", risk: "low" }) as const,
    };
    const target = world(script("mild").provider, [shell()], permission);
    begin(target, "go");
    await run(target);
    const asked = target.log.findLast((entry) => entry.kind === "decision_asked");
    if (asked?.kind !== "decision_asked") throw new Error("nothing was asked");
    expect(asked.resource).toBe("mild");
    const { decision_id, call_id } = asked;
    const answer = { allow: true, reason: "because", by: "user", updated_input: { value: "wild" } } as const;
    target.log.push({ kind: "decision_settled", decision_id, call_id, ...answer });
    denies = true;
    await run(target);
    expect(audited(target)).toMatchObject([{ operation: "invoke", outcome: "blocked", resource: "wild" }]);
  });

  test("names the input the policy made of it where nobody can be asked", async () => {
    const said = { decision: "ask", reason: "test", risk: "low", updatedInput: { value: "tame" } } as const;
    const target = world(script("wild").provider, [shell()], { check: async () => said });
    begin(target, "go", { interactive: false });
    await run(target);
    expect(audited(target)).toMatchObject([{ outcome: "blocked", resource: "tame" }]);
  });

  test("is cut after its secrets are hidden", async () => {
    // spec: S-5
    const secret = "correct-horse-battery";
    const more = { redactor: createRedactor({ PASS: secret }) };
    const target = world(script(`${"x".repeat(4090)}${secret}`).provider, [shell()], ALLOW, more);
    begin(target, "go");
    await run(target);
    expect(audited(target)[0]?.resource).toBe(`${"x".repeat(4090)}[SECRE`);
  });
});

describe("checkpoints", () => {
  const irreversible = () => {
    const tool = fakeTool("SendMail");
    return { ...tool, ran: tool.ran, metadata: { ...tool.metadata, requiresCheckpoint: true } };
  };
  const script = () => scripted([calls({ id: "a", name: "SendMail", input: { value: "x" } }), says("ok")]);

  test("a tool that cannot be undone asks in every mode and runs once on a yes", async () => {
    // spec: D-4 E-16
    const tool = irreversible();
    const target = world(script().provider, [tool], ALLOW);
    begin(target, "go", { permission_mode: "bypass" });
    expect((await run(target)).kind).toBe("parked");
    expect(eventsOf(target, "checkpoint")).toMatchObject([{ tool_name: "SendMail", tool_call_id: "a" }]);
    settle(target, true);
    await run(target);
    expect(tool.ran).toEqual(["x"]);
  });

  test.each([
    ["nobody answers in time", "timeout", "error: tool execution denied at checkpoint"],
    ["a person says no", "user", "error: tool execution denied at checkpoint: because"],
  ] as const)("%s: the model reads it", async (_, by, output) => {
    const tool = irreversible();
    const target = world(script().provider, [tool], ALLOW);
    begin(target, "go");
    await run(target);
    settle(target, false, by);
    await run(target);
    expect(tool.ran).toEqual([]);
    expect(eventsOf(target, "tool_result")).toMatchObject([{ output, is_error: true }]);
  });

  test("where nobody can be asked it is denied at once", async () => {
    const tool = irreversible();
    const target = world(script().provider, [tool], ALLOW);
    begin(target, "go", { interactive: false });
    await run(target);
    expect(tool.ran).toEqual([]);
    expect(eventsOf(target, "tool_result")).toMatchObject([{ output: "error: tool execution denied at checkpoint" }]);
  });

  test("a call of high risk that nobody was asked about suggests one", async () => {
    // spec: E-16
    const tool = fakeTool("Wipe");
    const target = world(scripted([calls({ id: "a", name: "Wipe", input: {} }), says("ok")]).provider, [tool], {
      check: async () => ({ decision: "allow", reason: "", risk: "high" }),
    });
    begin(target, "go");
    await run(target);
    expect(eventsOf(target, "checkpoint_suggested")).toMatchObject([{ tool_call_id: "a", tool_name: "Wipe" }]);
  });
});

describe("the classifier", () => {
  const fast = (text: string): Partial<EngineDeps> => ({
    fast: { provider: scripted([says(text)]).provider, model: "fast" },
    classifier: (call) => createClassifier({ call, maxRisk: "medium", now: () => 0 }),
  });
  const asks = (risk: "low" | "medium" | "high") => ({
    check: async () => ({ decision: "ask", reason: "it writes", risk }) as const,
  });
  const begun = (more: Partial<EngineDeps>, risk: "low" | "medium" | "high", interactive = true) => {
    const tool = fakeTool("Write");
    const script = scripted([calls({ id: "a", name: "Write", input: {} }), says("ok")]);
    const target = world(script.provider, [tool], asks(risk), more);
    begin(target, "write it", { interactive });
    return { target, tool };
  };

  test("may answer a question with yes; its word is stored and paid for", async () => {
    // spec: S-2 P-3
    const { target, tool } = begun(fast('{"decision":"allow","reason":"the user asked for it"}'), "medium");
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(tool.ran).toHaveLength(1);
    expect(target.log.find((entry) => entry.kind === "classified")).toMatchObject({
      decision: "allow",
      reason: "the user asked for it",
      stage: "model",
    });
    expect(target.events.at(-1)).toMatchObject({ total_input_tokens: 30 });
  });

  test("leaves the question to a person when it is unsure, cannot be understood, or the risk is too high", async () => {
    for (const [text, risk] of [
      ['{"decision":"ask","reason":"unsure"}', "medium"],
      ["sure, go ahead", "medium"],
      ['{"decision":"allow","reason":"fine"}', "high"],
    ] as const) {
      const { target, tool } = begun(fast(text), risk);
      expect((await run(target)).kind).toBe("parked");
      expect(tool.ran).toEqual([]);
    }
  });

  test("may allow a call where nobody else can; what it leaves open is denied there", async () => {
    // spec: H-2 S-2
    const allowed = begun(fast('{"decision":"allow","reason":"fine"}'), "low", false);
    expect(await run(allowed.target)).toEqual({ kind: "ended" });
    expect(allowed.tool.ran).toHaveLength(1);
    const unsure = begun(fast('{"decision":"ask","reason":"unsure"}'), "low", false);
    expect(await run(unsure.target)).toEqual({ kind: "ended" });
    expect(unsure.tool.ran).toEqual([]);
    expect(eventsOf(unsure.target, "tool_result")).toMatchObject([{ output: expect.stringContaining("stateless") }]);
  });

  test("is not asked twice after a crash, and never about a denial", async () => {
    const { target } = begun(fast('{"decision":"ask","reason":"unsure"}'), "low");
    await run(target);
    settle(target, true);
    await run(target);
    expect(target.log.filter((entry) => entry.kind === "classified")).toHaveLength(1);
    const denied = world(
      scripted([calls({ id: "a", name: "Write", input: {} }), says("ok")]).provider,
      [fakeTool("Write")],
      { check: async () => ({ decision: "deny", reason: "no", risk: "low" }) },
      fast('{"decision":"allow","reason":"x"}'),
    );
    begin(denied, "go");
    await run(denied);
    expect(denied.log.some((entry) => entry.kind === "classified")).toBe(false);
  });
});

describe("what operators are told", () => {
  const told = () => {
    const seen: [string, Record<string, unknown>][] = [];
    return { seen, observe: (name: string, data: Record<string, unknown>) => void seen.push([name, data]) };
  };

  test("each cost threshold of a session once, also over several runs", async () => {
    // spec: O-5
    const { seen, observe } = told();
    // A million tokens at 1,000 nano-dollars: 1 USD a call.
    const dollar = { input: 1_000_000, output: 0, cache_read: 0, cache_write: 0 };
    const target = world(scripted(Array.from({ length: 6 }, () => says("x", { usage: dollar }))).provider, [], ALLOW, {
      observe,
    });
    for (let i = 0; i < 6; i++) {
      begin(target, "hi", { run_id: `run_${i}` });
      await run(target);
    }
    const crossed = seen.filter(([name]) => name === "session_cost_threshold_crossed");
    expect(crossed.map(([, data]) => data.threshold_usd)).toEqual([1, 5]);
  });

  test("which section broke the cached prefix, and what that costs", async () => {
    // spec: B-2
    const { seen, observe } = told();
    let version = 1;
    const prefix = (): CachePrefix => ({
      tools: "t",
      sections: [
        { name: "intro", kind: "static", digest: "same", tokens: 400 },
        { name: "env_info", kind: "dynamic", digest: `v${version}`, tokens: 50 },
      ],
    });
    const usage = { input: 10, output: 5, cache_read: 1_000, cache_write: 400 };
    const script = scripted([says("one", { usage }), says("two", { usage })]);
    const target = world(script.provider, [], ALLOW, {
      observe,
      prompt: {
        compose: async () => ({ system: [], stored: { tie: "t", texts: {} }, prefix: prefix(), tokens: 0 }),
        compare: cacheBreak,
      },
    });
    begin(target, "hi");
    await run(target);
    version = 2;
    begin(target, "again", { run_id: "run_2" });
    await run(target);
    expect(seen.filter(([name]) => name === "prompt_cache_broken")).toMatchObject([
      ["prompt_cache_broken", { section: "env_info", kind: "dynamic", change: "changed", lost_tokens: 1_000 }],
    ]);
    const [, data] = seen.find(([name]) => name === "prompt_cache_broken") ?? [];
    // The price of input, 1 USD per 1M, is what reading it anew costs; from the cache it is free here.
    expect(data?.cost_usd).toBeCloseTo(0.001);
  });

  test("late answers are counted, and change nothing", async () => {
    const { seen, observe } = told();
    let finish: () => void = () => undefined;
    const slow = fakeTool("Slow", {
      readOnly: true,
      run: () =>
        new Promise((resolve) => {
          finish = () => resolve({ content: "late", isError: false });
        }),
    });
    const script = scripted([calls({ id: "a", name: "Slow", input: {} }), says("ok")]);
    const target = world(script.provider, [slow], ALLOW, { observe });
    const short = {
      ...target,
      deps: { ...target.deps, limits: { ...target.deps.limits, toolTimeoutMs: 1, toolGraceMs: 1 } },
    };
    begin(short, "go");
    await run(short);
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.map(([name]) => name)).toEqual(expect.arrayContaining(["tool_timed_out", "late_answer_ignored"]));
    expect(JSON.stringify(treeOf(short).root.messages)).not.toContain("late");
  });
});

describe("bounds", () => {
  test("a run that is too old is given up with an error, its calls paired", async () => {
    // user report S8
    const target = world(scripted([]).provider, []);
    begin(target, "go", { deadline: 999_999 });
    await run(target);
    expect(target.events).toMatchObject([{ type: "error", category: "timeout" }]);
  });

  test("a permission check that hangs denies", async () => {
    const tool = fakeTool("Write");
    const script = scripted([calls({ id: "a", name: "Write", input: {} }), says("ok")]);
    const target = world(script.provider, [tool], { check: () => new Promise(() => undefined) });
    const short = { ...target, deps: { ...target.deps, limits: { ...target.deps.limits, permissionCheckMs: 1 } } };
    begin(short, "go");
    await run(short);
    expect(tool.ran).toEqual([]);
    expect(eventsOf(short, "tool_result")).toMatchObject([{ output: expect.stringContaining("took too long") }]);
  });

  test("what is allowed for the session is allowed to every agent of it", async () => {
    const tool = fakeTool("Write");
    const script = scripted([calls({ id: "a", name: "Write", input: {} }), says("ok")]);
    const grants: unknown[] = [];
    const target = world(script.provider, [tool], {
      check: async (call) => {
        grants.push(call.grants);
        return ASK.check(call);
      },
    });
    begin(target, "go");
    target.log.push({
      kind: "decision_settled",
      agent: "sa-1",
      decision_id: "d",
      call_id: "c",
      allow: true,
      reason: "",
      by: "user",
      grant: { tool: "Bash", argument: "npm test" },
    });
    await run(target);
    expect(grants[0]).toEqual([{ tool: "Bash", argument: "npm test" }]);
  });
});
