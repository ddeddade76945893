import { describe, expect, test } from "vitest";
import type { ElicitationAnswer, ElicitationQuestion } from "../../../src/contract/elicitation.ts";
import { EngineEvent } from "../../../src/contract/events.ts";
import { Entry } from "../../../src/contract/log.ts";
import type { ToolContext, ToolOutcome } from "../../../src/contract/tools.ts";
import { drive } from "../../../src/engine/drive.ts";
import { OUTCOME_UNKNOWN } from "../../../src/engine/log/fold.ts";
import { Nudge } from "../../../src/engine/nudge.ts";
import { AGENT, agent, eventsOf, expectPaired, modelOf } from "./agent-world.ts";
import { begin, calls, fakeTool, run, Stopped, says, scripted, treeOf, type World, world } from "./world.ts";

const QUESTION: ElicitationQuestion = {
  server: "lab",
  message: "Who are you?",
  fields: [{ name: "name", type: "string", required: true }],
};
const NEVER = new AbortController().signal;

type Ask = NonNullable<ToolContext["elicit"]>;

/** A tool of another machine that may ask; without anybody to ask it says so. */
function asking(work: (ask: Ask, context: ToolContext) => Promise<string>, readOnly = false) {
  return fakeTool("Remote", {
    readOnly,
    recovery: "unknown",
    run: async (_, context): Promise<ToolOutcome> => ({
      content: context.elicit ? await work(context.elicit, context) : "nobody there",
      isError: false,
    }),
  });
}

const askOnce = async (ask: Ask): Promise<string> => JSON.stringify(await ask(QUESTION, NEVER));
const call = (id = "a") => calls({ id, name: "Remote", input: { value: id } });

/** Hosts a run like a session's object, which answers questions while the loop goes on. */
function host(target: World, signal = NEVER) {
  const tree = treeOf(target);
  const nudge = new Nudge();
  let told: () => void = () => undefined;
  const add = (entry: Entry): void => {
    target.log.push(Entry.parse(entry));
    tree.append(entry);
  };
  const done = (async () => {
    const steps = drive(tree, target.deps, nudge, signal);
    while (true) {
      const next = await steps.next();
      if (next.done) return next.value;
      target.events.push(...next.value.events);
      if (next.value.kind === "commit") for (const entry of next.value.entries) add(entry);
      told();
    }
  })();
  /** Waits until so many questions were asked; gives the newest. */
  const asked = async (count = 1) => {
    while (true) {
      const all = target.log.filter((entry) => entry.kind === "decision_asked");
      const newest = all[count - 1];
      if (newest) return newest;
      await new Promise<void>((resolve) => {
        told = resolve;
      });
    }
  };
  const settle = (question: Awaited<ReturnType<typeof asked>>, elicitation: ElicitationAnswer | undefined): void => {
    const { decision_id, call_id } = question;
    add({
      ...{ kind: "decision_settled", decision_id, call_id, reason: "", by: elicitation ? "user" : "timeout" },
      ...(question.agent === undefined ? {} : { agent: question.agent }),
      allow: elicitation?.action === "accept",
      ...(elicitation ? { elicitation } : {}),
    });
    nudge.give();
  };
  return { done, asked, settle };
}

const outputs = (target: World): unknown[] => eventsOf(target, "tool_result").map(({ output }) => output);
const kinds = (target: World): string[] =>
  target.log.map(({ kind }) => kind).filter((kind) => /^(decision|tool)_/.test(kind));

function start(tool: ReturnType<typeof asking>, more: Parameters<typeof world>[3] = {}) {
  const target = world(scripted([call(), says("ok")]).provider, [tool], undefined, more);
  begin(target, "go");
  return target;
}

describe("a running call's question", () => {
  // spec: D-3 D-5 E-16
  test.each<[string, ElicitationAnswer | undefined, ElicitationAnswer]>([
    ["accepted", { action: "accept", content: { name: "Ada" } }, { action: "accept", content: { name: "Ada" } }],
    ["declined", { action: "decline" }, { action: "decline" }],
    ["not answered in time", undefined, { action: "cancel" }],
  ])("goes to a person, and the call goes on with what they say: %s", async (_, said, heard) => {
    const target = start(asking(askOnce));
    const { done, asked, settle } = host(target);
    const question = await asked();
    expect(question).toMatchObject({ decision_kind: "elicitation", tool_name: "Remote", elicitation: QUESTION });
    const [event] = eventsOf(target, "elicitation");
    expect(EngineEvent.parse(event)).toEqual({
      ...{ type: "elicitation", id: question.decision_id, ...QUESTION, tool_call_id: "a" },
      expires_at: new Date(question.deadline).toISOString(),
    });
    settle(question, said);
    expect(await done).toEqual({ kind: "ended" });
    expect(outputs(target)).toEqual([JSON.stringify(heard)]);
    expect(kinds(target)).toEqual(["tool_started", "decision_asked", "decision_settled", "tool_finished"]);
  });

  test("comes after the one before it, also of calls that run side by side", async () => {
    const tool = asking(askOnce, true);
    const both = calls({ id: "a", name: "Remote", input: {} }, { id: "b", name: "Remote", input: {} });
    const target = world(scripted([both, says("ok")]).provider, [tool]);
    begin(target, "go");
    const { done, asked, settle } = host(target);
    const first = await asked();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(kinds(target).filter((kind) => kind === "decision_asked")).toHaveLength(1);
    settle(first, { action: "accept", content: { name: "one" } });
    settle(await asked(2), { action: "accept", content: { name: "two" } });
    await done;
    expect(outputs(target).map((output) => JSON.parse(String(output)).content.name)).toEqual(["one", "two"]);
  });

  test("ends with its call, and when the server takes it back", async () => {
    const end = start(
      asking(async (ask) => {
        void ask(QUESTION, NEVER);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return "without you";
      }),
    );
    await host(end).done;
    expect(outputs(end)).toEqual(["without you"]);
    expect(end.log.find((entry) => entry.kind === "decision_settled")).toMatchObject({ by: "cancel", allow: false });
    const taken = new AbortController();
    const back = start(
      asking(async (ask) => {
        const answer = ask(QUESTION, taken.signal);
        setTimeout(() => taken.abort(), 5);
        return JSON.stringify(await answer);
      }),
    );
    await host(back).done;
    expect(outputs(back)).toEqual(['{"action":"cancel"}']);
    expect(kinds(back)).toEqual(["tool_started", "decision_asked", "decision_settled", "tool_finished"]);
  });

  test("is not put where nobody can be asked", async () => {
    const target = world(scripted([call(), says("ok")]).provider, [asking(askOnce)]);
    begin(target, "go", { interactive: false });
    await run(target);
    expect(outputs(target)).toEqual(["nobody there"]);
  });

  test("does not come without end", async () => {
    const target = start(
      asking(async (ask) => {
        for (let count = 0; ; count++) if ((await ask(QUESTION, NEVER)).action === "decline") return `${count} answers`;
      }),
    );
    const { done, asked, settle } = host(target);
    for (let i = 1; i <= 16; i++) settle(await asked(i), { action: "cancel" });
    await done;
    expect(outputs(target)).toEqual(["16 answers"]);
  });

  test("stops the clock of its call, and only while it is open", async () => {
    // A clock that moves when the test says so.
    let now = 0;
    const timers: { at: number; fire: () => void }[] = [];
    const delay = (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        timers.push({ at: now + ms, fire: resolve });
        signal.addEventListener("abort", () => resolve());
      });
    const pass = async (ms: number): Promise<void> => {
      now += ms;
      for (const timer of timers.filter(({ at }) => at <= now)) timer.fire();
      await new Promise((resolve) => setTimeout(resolve, 2));
    };
    const target = start(
      asking(async (ask) => {
        await ask(QUESTION, NEVER);
        return new Promise(() => undefined);
      }),
      { now: () => now, delay },
    );
    const { done, asked, settle } = host(target);
    const question = await asked();
    // The call may take 6 s; a person takes an hour.
    await pass(3_600_000);
    expect(outputs(target)).toEqual([]);
    settle(question, { action: "decline" });
    await pass(0);
    await pass(5_900);
    expect(outputs(target)).toEqual([]);
    await pass(200);
    await done;
    expect(String(outputs(target)[0])).toContain("was given up");
  });

  test("of a sub-agent is shown on the root stream under its name, and answered like the root's", async () => {
    const { provider } = modelOf((prompt, turn) => {
      if (turn > 0) return says("ok");
      return prompt === "go" ? calls(agent("s", "sub")) : call("r");
    });
    const target = world(provider, [AGENT, asking(askOnce)]);
    begin(target, "go");
    const { done, asked, settle } = host(target);
    const question = await asked();
    expect(question.agent).toBe("sa-1");
    expect(eventsOf(target, "elicitation")).toMatchObject([{ subagent_id: "sa-1", tool_call_id: "r" }]);
    settle(question, { action: "accept", content: { name: "Ada" } });
    await done;
    expect(JSON.stringify(eventsOf(target, "subagent_event"))).toContain("Ada");
    expectPaired(target);
  });
});

describe("when the owner of a call is lost while its question is open", () => {
  // spec: D-3 E-30 T-2
  test("the outcome is unknown, the question is over, and the tool does not run again", async () => {
    const tool = asking(askOnce);
    const target = start(tool);
    // The host dies once the question is stored: prompt, turn, answer, start, question.
    const stored = (): number => kinds(target).filter((kind) => kind === "decision_asked").length;
    for (let stopAfter = 1; stored() === 0; stopAfter++) {
      target.log.length = 2;
      target.events.length = 0;
      const fresh = world(scripted([call(), says("ok")]).provider, [tool]);
      await run({ ...target, deps: fresh.deps }, { stopAfter }).catch((error: unknown) => {
        if (!(error instanceof Stopped)) throw error;
      });
    }
    tool.ran.length = 0;
    const again = { ...target, deps: world(scripted([says("ok")]).provider, [tool]).deps };
    expect(await run(again)).toEqual({ kind: "ended" });
    expect(tool.ran).toEqual([]);
    expect(outputs(target)).toEqual([OUTCOME_UNKNOWN]);
    expect(kinds(target)).toEqual(["tool_started", "decision_asked", "decision_settled", "tool_finished"]);
    expectPaired(target);
  });

  test("a cancel that finds no owner ends the question with its call", async () => {
    const target = start(asking(askOnce));
    const made: Entry = {
      ...{ kind: "assistant", turn: 1, provider: "scripted", model: "m", stop: "tool_use", usage: null, cost_nano: 0 },
      content: [{ id: "a", name: "Remote", type: "tool_use", input: {} }],
    };
    const asked = { call_id: "a", tool_name: "Remote", input: {}, message: "", deadline: 0, elicitation: QUESTION };
    target.log.push(
      { kind: "turn_started", turn: 1 },
      made,
      { kind: "tool_started", call_id: "a" },
      { kind: "decision_asked", decision_id: "perm_1", decision_kind: "elicitation", ...asked },
      { kind: "cancel", reason: "enough" },
    );
    await run(target);
    expect(target.log.find((entry) => entry.kind === "decision_settled")).toMatchObject({
      decision_id: "perm_1",
      by: "cancel",
    });
    expect(outputs(target)).toEqual(["error: cancelled while it ran: enough"]);
  });

  test("a cancel of the run ends it, too", async () => {
    const target = start(asking(askOnce));
    const stop = new AbortController();
    const { done, asked } = host(target, stop.signal);
    await asked();
    target.log.push({ kind: "cancel", reason: "enough" });
    stop.abort(new Error("cancelled"));
    await expect(done).rejects.toThrow();
    await run(target);
    expect(outputs(target)).toEqual(["error: cancelled while it ran: enough"]);
    expect(kinds(target).filter((kind) => kind === "decision_settled")).toHaveLength(1);
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "cancelled" });
  });
});
