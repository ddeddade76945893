import { describe, expect, test } from "vitest";
import type { Entry } from "../../../src/contract/log.ts";
import type { PermissionPolicy } from "../../../src/contract/permission.ts";
import { createSecretGuard } from "../../../src/secrets/guard/guard.ts";
import { createRedactor } from "../../../src/secrets/redactor/redactor.ts";
import { eventsOf } from "./agent-world.ts";
import { ALLOW, begin, calls, fakeTool, foldOf, run, Stopped, says, scripted, world } from "./world.ts";

describe("input that the policy rewrites", () => {
  const rewriting = (decision: "ask" | "allow"): PermissionPolicy => ({
    check: async () => ({ decision, reason: "", risk: "low", updatedInput: { value: "safe" } }),
  });
  const script = () => scripted([calls({ id: "c", name: "Act", input: { value: "raw" } }), says("ok")]);

  test("is what a person is asked about and what runs after the yes", async () => {
    // spec: D-1
    const tool = fakeTool("Act");
    const target = world(script().provider, [tool], rewriting("ask"));
    begin(target, "go");
    expect((await run(target)).kind).toBe("parked");
    const [question] = eventsOf(target, "permission_request");
    expect(question?.input).toEqual({ value: "safe" });
    const decision_id = question?.id ?? "";
    target.log.push({ kind: "decision_settled", decision_id, call_id: "c", allow: true, reason: "", by: "user" });
    await run(target);
    expect(tool.ran).toEqual(["safe"]);
  });

  test("is what runs again after a crash in the middle of the call", async () => {
    const tool = fakeTool("Act", { recovery: "rerun" });
    const target = world(script().provider, [tool], rewriting("allow"));
    for (let at = 1; target.log.at(-1)?.kind !== "tool_started"; at++) {
      const again = { ...target, deps: { ...target.deps, provider: script().provider } };
      target.log.length = 0;
      begin(again, "go");
      await expect(run(again, { stopAfter: at })).rejects.toThrow(Stopped);
    }
    tool.ran.length = 0;
    await run({ ...target, deps: { ...target.deps, provider: scripted([says("ok")]).provider } });
    expect(tool.ran).toEqual(["safe"]);
  });
});

describe("a history whose tool call lost its result", () => {
  const cutShort = (strict: boolean) => {
    const seen: [string, Record<string, unknown>][] = [];
    const target = world(scripted([says("one"), says("two")]).provider, [], ALLOW, {
      strict: { toolResultPairing: strict, compaction: false },
      observe: (name, data) => void seen.push([name, data]),
    });
    begin(target, "go");
    const reply: Entry = {
      kind: "assistant",
      turn: 1,
      content: [{ type: "tool_use", id: "c", name: "Look", input: {} }],
      stop: "tool_use",
      usage: null,
      cost_nano: 0,
      provider: "scripted",
      model: "m",
    };
    const outcome = { type: "error", category: "internal", message: "", retryable: false } as const;
    target.log.push({ kind: "turn_started", turn: 1 }, reply, { kind: "run_ended", outcome });
    return { target, told: () => seen.filter(([name]) => name === "tool_result_pairing_repaired") };
  };

  test("is repaired, told once, and the run goes on", async () => {
    // spec: T-2 O-6
    const { target, told } = cutShort(false);
    for (const prompt of ["again", "and again"]) {
      begin(target, prompt);
      await run(target);
      expect(target.events.at(-1)?.type).toBe("done");
    }
    expect(told()).toEqual([["tool_result_pairing_repaired", { session_id: "s", count: 1 }]]);
    const [, , repaired] = foldOf(target).messages;
    expect(repaired?.content).toMatchObject([{ type: "tool_result", tool_use_id: "c", is_error: true }]);
  });

  test("fails one run in strict mode, not every run of the session", async () => {
    // spec: T-2 O-6
    const { target, told } = cutShort(true);
    begin(target, "again");
    await run(target);
    expect(target.events.at(-1)).toMatchObject({ type: "error", category: "internal", retryable: false });
    begin(target, "and again");
    await run(target);
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    expect(told()).toHaveLength(1);
  });
});

describe("what a tool reports while it works", () => {
  test("holds nothing that looks like a secret either", async () => {
    // spec: S-3
    const token = `ghp_${"Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7d"}`;
    const tool = fakeTool("Look", {
      readOnly: true,
      run: async (_, { progress }) => {
        progress(0.5, `cloning with ${token}`);
        return { content: "", isError: false };
      },
    });
    const script = scripted([calls({ id: "l", name: "Look", input: {} }), says("ok")]);
    const target = world(script.provider, [tool], ALLOW, { guard: createSecretGuard() });
    begin(target, "go");
    await run(target);
    expect(JSON.stringify(eventsOf(target, "tool_progress"))).not.toContain(token);
  });

  test("holds no part of a secret, wherever the report is cut", async () => {
    // spec: S-5
    const secret = "Zx7QmK2vWp9LtR4cHs8BnD3f";
    for (let tail = 170; tail <= 210; tail++) {
      const detail = `key=${secret}${".".repeat(tail)}`;
      const tool = fakeTool("Look", {
        readOnly: true,
        run: async (_, { progress }) => {
          progress(0.5, detail);
          return { content: "", isError: false };
        },
      });
      const script = scripted([calls({ id: "l", name: "Look", input: {} }), says("ok")]);
      const target = world(script.provider, [tool], ALLOW, { redactor: createRedactor({ KEY: secret }) });
      begin(target, "go");
      await run(target);
      const shown = eventsOf(target, "tool_progress").map((event) => event.detail);
      expect(shown, `${tail} dots`).toEqual([`key=[SECRET:KEY]${".".repeat(tail)}`.slice(-200)]);
    }
  });
});
