import { describe, expect, test } from "vitest";
import { begin, calls, fakeTool, run, Stopped, says, scripted, types, world } from "../engine/world.ts";

/** A sandbox that never comes back, whatever it is asked. */
const NEVER = new Promise<never>(() => undefined);
const LIMITS = { toolTimeoutMs: 40, toolGraceMs: 20 };

function limited(target: ReturnType<typeof world>): ReturnType<typeof world> {
  return { ...target, deps: { ...target.deps, limits: { ...target.deps.limits, ...LIMITS } } };
}

describe("S18: a sandbox call that never returns", () => {
  test("is given up by the host's clock, the model reads so, and the late answer is dropped", async () => {
    let answer: (value: { content: string; isError: boolean }) => void = () => undefined;
    const late = new Promise<{ content: string; isError: boolean }>((resolve) => {
      answer = resolve;
    });
    const stuck = fakeTool("Stuck", { run: () => late });
    const { provider, requests } = scripted([calls({ id: "c1", name: "Stuck", input: {} }), says("ok")]);
    const target = limited(world(provider, [stuck]));
    begin(target, "go");
    const before = performance.now();
    await run(target);
    expect(performance.now() - before).toBeLessThan(1_000);
    answer({ content: "too late", isError: false });
    await late;
    expect(types(target).filter((type) => type === "tool_result")).toHaveLength(1);
    expect(JSON.stringify(requests[1]?.messages)).toContain("did not end within 60 ms");
    expect(JSON.stringify(target.log)).not.toContain("too late");
  });

  test("is given up also where only the keeping of a long output hangs", async () => {
    const long = fakeTool("Long", { run: async () => ({ content: "x".repeat(10_000), isError: false }) });
    const base = world(scripted([calls({ id: "c1", name: "Long", input: {} }), says("ok")]).provider, [long]);
    const files = { ...base.deps.sandbox.files, writeFile: () => NEVER };
    const target = limited({ ...base, deps: { ...base.deps, sandbox: { ...base.deps.sandbox, files } } });
    begin(target, "go");
    await run(target);
    expect(types(target).at(-1)).toBe("done");
    expect(JSON.stringify(target.log)).toContain("did not end within 60 ms");
  });

  test("is left at once on abort", async () => {
    const stop = new AbortController();
    const stuck = fakeTool("Stuck", {
      run: () => {
        queueMicrotask(() => stop.abort(new Error("cancelled")));
        return NEVER;
      },
    });
    const target = world(scripted([calls({ id: "c1", name: "Stuck", input: {} })]).provider, [stuck]);
    begin(target, "go");
    const before = performance.now();
    await expect(run(target, { signal: stop.signal })).rejects.toThrow("cancelled");
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe("S8: a step that takes its owner down every time", () => {
  test.each([
    ["a tool that may run again", "tool"],
    ["a model call", "model"],
  ])("%s is tried a bounded number of times, then the run ends with an error", async (_, kind) => {
    const deadly = fakeTool("Deadly", { readOnly: true });
    const reply = calls({ id: "c1", name: "Deadly", input: {} });
    const { provider } = scripted(kind === "tool" ? [reply] : []);
    const target = world(provider, [deadly]);
    begin(target, "go");
    // The owner dies right after it has stored that the step begins; the next one finds the log as it is.
    await expect(run(target, { stopAfter: kind === "tool" ? 3 : 1 })).rejects.toThrow(Stopped);
    let lives = 1;
    while (target.log.at(-1)?.kind !== "run_ended") {
      if (++lives > 20) throw new Error("tried for ever");
      target.log.push({ kind: "run_resumed" });
      await expect(run(target, { stopAfter: 1 })).rejects.toThrow(Stopped);
    }
    expect(lives).toBe(target.deps.limits.maxRestarts + 2);
    expect(target.log.at(-1)).toMatchObject({ outcome: { type: "error", category: "interrupted" } });
    expect(types(target).filter((type) => type === "error" || type === "done")).toEqual(["error"]);
  });
});
