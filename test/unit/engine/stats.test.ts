import { expect, test } from "vitest";
import type { Entry } from "../../../src/contract/log.ts";
import { foldStats } from "../../../src/engine/log/stats.ts";
import { begin, calls, fakeTool, run, says, scripted, USAGE, world } from "./world.ts";

async function logOf(): Promise<Entry[]> {
  const script = scripted([calls({ id: "a", name: "Look", input: {} }), says("ok")]);
  const target = world(script.provider, [fakeTool("Look", { readOnly: true })]);
  begin(target, "hi");
  await run(target);
  return target.log;
}

test("stats are sums over the log", async () => {
  // spec: P-2
  expect(foldStats(await logOf())).toMatchObject({
    usage: { input: 2 * USAGE.input, output: 2 * USAGE.output },
    costNano: 30_000,
    estimated: false,
    runs: 1,
    turns: 2,
    toolCalls: 1,
    denials: 0,
  });
});

test("a call without usage, or at the price of an unknown model, marks the sums as an estimate", async () => {
  // spec: R-5
  const log = await logOf();
  const changed = (more: object) =>
    log.map((entry): Entry => (entry.kind === "assistant" ? { ...entry, ...more } : entry));
  expect(foldStats(changed({ usage: null })).estimated).toBe(true);
  expect(foldStats(changed({ cost_estimated: true })).estimated).toBe(true);
});

test("a fork starts its figures at zero", async () => {
  // spec: H-20
  const stats = foldStats([...(await logOf()), { kind: "forked", from: "s" }]);
  expect(stats).toMatchObject({ turns: 0, costNano: 0, usage: { input: 0 } });
});

test("a call nobody has counted marks the sums as an estimate, an interruption counts once", async () => {
  // spec: P-2
  const log = await logOf();
  const at = log.findIndex((entry) => entry.kind === "assistant");
  const again = { kind: "turn_restarted", turn: 1, reason: "interrupted" } as const;
  const interrupted = foldStats([...log.slice(0, at), { kind: "run_resumed" }, again, ...log.slice(at)]);
  expect(interrupted).toMatchObject({ restarts: 1, estimated: true, turns: 2 });
  const cancelled = { kind: "run_ended", outcome: { type: "done", stop_reason: "cancelled" } } as const;
  expect(foldStats([...log.slice(0, at), cancelled])).toMatchObject({ turns: 1, estimated: true, costNano: 0 });
});
