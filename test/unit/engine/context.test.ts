import { describe, expect, test } from "vitest";
import type { ModelEvent, ModelProvider, ModelRequest } from "../../../src/contract/model.ts";
import type { EngineDeps } from "../../../src/engine/deps.ts";
import { begin, calls, fakeTool, foldOf, run, Stopped, says, scripted, types, USAGE, world } from "./world.ts";

const tokens = (text: string): number => Math.ceil(text.length / 4);
const sizeOf = (request: ModelRequest): number => tokens(JSON.stringify(request.messages));

/** A model with a window of its own that refuses what does not fit and counts what it reads. */
function windowed(window: number, answer: (request: ModelRequest, n: number) => ModelEvent[]) {
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name: "scripted",
    async *stream(request) {
      const input = sizeOf(request);
      requests.push({ ...request, messages: [...request.messages] });
      if (input > window) {
        const failure = {
          category: "prompt_too_long",
          message: "too long",
          retryable: false,
          tokenGap: input - window,
        } as const;
        yield [{ type: "failed", failure }];
        return;
      }
      for (const event of answer(request, requests.length)) {
        yield [event.type === "finished" ? { ...event, usage: { ...USAGE, input } } : event];
      }
    },
    models: () => [],
  };
  return { provider, requests };
}

function fastModel(say: () => ModelEvent[] = () => says("Goal: count the stars. Done: some.")) {
  let count = 0;
  const provider: ModelProvider = {
    name: "fast",
    async *stream() {
      count++;
      for (const event of say()) yield [event];
    },
    models: () => [],
  };
  return { provider, calls: () => count };
}

function withWindow(window: number, deps: EngineDeps): Partial<EngineDeps> {
  return {
    models: {
      info: (model) => ({ ...deps.models.info(model), context_window: window, max_output_tokens: 500 }),
      costNano: deps.models.costNano,
    },
  };
}

const plain = world(scripted([]).provider, []).deps;

describe("the context", () => {
  test("300 turns stay within a window of 20,000 tokens, keep the goal and cost a bounded number of summaries", async () => {
    // spec: C-1
    const window = 20_000;
    const fast = fastModel();
    const model = windowed(window, (_request, n) =>
      n < 300 ? calls({ id: `c${n}`, name: "Look", input: { value: String(n) } }) : says("3 stars"),
    );
    const look = fakeTool("Look", { readOnly: true, run: async () => ({ content: "x".repeat(900), isError: false }) });
    const target = world(model.provider, [look], undefined, {
      ...withWindow(window, plain),
      fast: { provider: fast.provider, model: "fast" },
    });
    begin(target, "count the stars over Bergen", { max_turns: 400 });
    expect(await run(target)).toEqual({ kind: "ended" });
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn", turn_count: 300 });
    for (const request of model.requests) {
      expect(sizeOf(request)).toBeLessThanOrEqual(window);
      expect(JSON.stringify(request.messages)).toContain("count the stars over Bergen");
      expect(request.messages[0]?.role).toBe("user");
      const asked = request.messages.flatMap((m) => m.content.flatMap((b) => (b.type === "tool_use" ? [b.id] : [])));
      const given = request.messages.flatMap((m) =>
        m.content.flatMap((b) => (b.type === "tool_result" ? [b.tool_use_id] : [])),
      );
      expect(given).toEqual(asked);
    }
    expect(fast.calls()).toBeLessThan(30);
    // The log keeps everything.
    expect(foldOf(target).messages).toHaveLength(600);
  });

  test("a summary keeps the user's goal word for word, also when a teammate wrote after it", async () => {
    // spec: C-1
    const window = 4_000;
    const fast = fastModel(() => says("Some work was done."));
    const model = windowed(window, (_request, n) =>
      n < 30 ? calls({ id: `c${n}`, name: "Look", input: { value: "v".repeat(600) } }) : says("ok"),
    );
    const deps = { ...withWindow(window, plain), fast: { provider: fast.provider, model: "fast" } };
    const target = world(model.provider, [fakeTool("Look", { readOnly: true })], undefined, deps);
    begin(target, "count the stars over Bergen", { max_turns: 50 });
    await expect(run(target, { stopAfter: 5 })).rejects.toThrow(Stopped);
    target.log.push({ kind: "inbox", from: "mate", text: "by the way, I like cats" });
    await run(target);
    expect(target.events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    const sent = model.requests.map(({ messages }) => JSON.stringify(messages));
    expect(sent.some((text) => text.includes("I like cats"))).toBe(true);
    // The summary has taken the place of both.
    expect(sent.at(-1)).toContain("Some work was done.");
    expect(sent.at(-1)).not.toContain("I like cats");
    for (const text of sent) expect(text).toContain("count the stars over Bergen");
  });

  test("drops old tool output first, without a model", async () => {
    const window = 4_000;
    const fast = fastModel();
    const model = windowed(window, (_request, n) =>
      n < 20 ? calls({ id: `c${n}`, name: "Look", input: {} }) : says("ok"),
    );
    const look = fakeTool("Look", {
      readOnly: true,
      run: async () => ({ content: "y".repeat(1_000), isError: false }),
    });
    const deps = { ...withWindow(window, plain), fast: { provider: fast.provider, model: "fast" } };
    const target = world(model.provider, [look], undefined, deps);
    begin(target, "go", { max_turns: 50 });
    await run(target);
    const compacted = target.log.filter((entry) => entry.kind === "compacted");
    expect(compacted.length).toBeGreaterThan(0);
    expect(compacted[0]).toMatchObject({ summarized: 0, cause: "threshold", usage: null });
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("old tool output removed");
  });

  test("a message larger than the window ends in the typed error, after at most two compactions", async () => {
    // spec: C-2 — user report S12
    const fast = fastModel();
    const model = windowed(1_000, () => says("never"));
    const deps = { ...withWindow(1_000, plain), fast: { provider: fast.provider, model: "fast" } };
    const target = world(model.provider, [], undefined, deps);
    begin(target, "z".repeat(40_000));
    await run(target);
    expect(target.events.at(-1)).toMatchObject({ type: "error", category: "prompt_too_long", retryable: false });
    expect(target.log.filter((entry) => entry.kind === "compacted").length).toBeLessThanOrEqual(2);
    expect(model.requests.length).toBeLessThanOrEqual(2);
  });

  test("a provider that finds the prompt too long gets it once more, shorter", async () => {
    // spec: T-5
    let first = true;
    const inner = windowed(100_000, () => says("ok now"));
    const provider: ModelProvider = {
      name: "scripted",
      async *stream(request, signal) {
        if (request.messages.length > 2 && first) {
          first = false;
          const failure = { category: "prompt_too_long", message: "too long", retryable: false, tokenGap: 50 } as const;
          yield [{ type: "failed", failure }];
          return;
        }
        yield* inner.provider.stream(request, signal);
      },
      models: () => [],
    };
    const fast = fastModel();
    const deps = { ...withWindow(100_000, plain), fast: { provider: fast.provider, model: "fast" } };
    const target = world(provider, [], undefined, deps);
    for (const prompt of ["one", "two", "three"]) {
      begin(target, `${prompt} ${"w".repeat(400)}`);
      await run(target);
      expect(target.events.at(-1)?.type).toBe("done");
    }
    expect(target.log.filter((entry) => entry.kind === "compacted")).toMatchObject([{ cause: "overflow" }]);
    expect(target.events.filter((event) => event.type === "context_compacted")).toHaveLength(1);
  });

  test("without a summary the older part goes all the same; in strict mode the run fails", async () => {
    // spec: C-2 O-6
    const broken = fastModel(() => [
      { type: "failed", failure: { category: "server", message: "down", retryable: true } },
    ]);
    const make = (compaction: boolean) => {
      const model = windowed(3_000, (_request, n) =>
        n < 30 ? calls({ id: `c${n}`, name: "Look", input: { value: "v".repeat(300) } }) : says("ok"),
      );
      const look = fakeTool("Look", { readOnly: true });
      const target = world(model.provider, [look], undefined, {
        ...withWindow(3_000, plain),
        fast: { provider: broken.provider, model: "fast" },
        strict: { toolResultPairing: false, compaction },
      });
      begin(target, "keep me", { max_turns: 50 });
      return target;
    };
    const lenient = make(false);
    await run(lenient);
    expect(lenient.events.at(-1)).toMatchObject({ type: "done" });
    expect(lenient.log.some((entry) => entry.kind === "compacted" && entry.failed)).toBe(true);
    await expect(run(make(true))).rejects.toThrow("strict mode");
  });

  test("a compaction that was asked for keeps everything where there is no summary, or none that is shorter", async () => {
    // spec: C-2
    const failure = { category: "server", message: "down", retryable: true } as const;
    for (const [reply, end] of [
      [[{ type: "failed", failure }], { type: "error", category: "server" }],
      [says("a very long summary ".repeat(500)), { type: "done" }],
    ] as const) {
      const model = scripted([says("one"), says("two")]);
      const fast = fastModel(() => [...reply]);
      const target = world(model.provider, [], undefined, { fast: { provider: fast.provider, model: "fast" } });
      begin(target, "remember the word heron");
      await run(target);
      begin(target, "", { task: "compact" });
      await run(target);
      expect(target.events.at(-1)).toMatchObject(end);
      expect(types(target)).not.toContain("context_compacted");
      begin(target, "which word?");
      await run(target);
      expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("heron");
    }
  });

  test("signed thinking goes back byte for byte or not at all", async () => {
    // user report S13
    const thought = { type: "thinking", text: "hm", provider_metadata: { signature: "sig-1" } } as const;
    const model = windowed(3_000, (_request, n) =>
      n < 30
        ? [
            { type: "block", block: thought },
            ...calls({ id: `c${n}`, name: "Look", input: { value: "v".repeat(200) } }),
          ]
        : says("ok"),
    );
    const fast = fastModel();
    const target = world(model.provider, [fakeTool("Look", { readOnly: true })], undefined, {
      ...withWindow(3_000, plain),
      fast: { provider: fast.provider, model: "fast" },
    });
    begin(target, "go", { max_turns: 50 });
    await run(target);
    expect(target.events.at(-1)?.type).toBe("done");
    expect(fast.calls()).toBeGreaterThan(0);
    for (const { messages } of model.requests) {
      for (const block of messages.flatMap((message) => message.content)) {
        if (block.type === "thinking") expect(block).toEqual(thought);
      }
    }
  });

  test("goes on from every stored step, a compaction among them, and ends the same", async () => {
    const make = () => {
      const fast = fastModel();
      const model = windowed(2_500, (request) => {
        // The newest call is always there, whatever was left out.
        const ids = JSON.stringify(request.messages).matchAll(/"c(\d+)"/g);
        const n = Math.max(0, ...Array.from(ids, (match) => Number(match[1])));
        return n < 12 ? calls({ id: `c${n + 1}`, name: "Step", input: { value: String(n + 1) } }) : says("twelve");
      });
      const step = fakeTool("Step", {
        run: async ({ value }) => ({ content: `${"pad ".repeat(220)}"step ${value}"`, isError: false }),
      });
      const target = world(model.provider, [step], undefined, {
        ...withWindow(2_500, plain),
        fast: { provider: fast.provider, model: "fast" },
      });
      begin(target, "twelve steps", { max_turns: 50 });
      return { target, step };
    };
    const calm = make();
    await run(calm.target);
    expect(calm.target.log.some((entry) => entry.kind === "compacted")).toBe(true);
    for (let at = 1; at < calm.target.commits.length; at++) {
      const { target, step } = make();
      await expect(run(target, { stopAfter: at })).rejects.toThrow(Stopped);
      expect(await run(target), `after step ${at}`).toEqual({ kind: "ended" });
      expect(target.events.at(-1), `after step ${at}`).toMatchObject({ type: "done", stop_reason: "end_turn" });
      expect(new Set(step.ran).size, `after step ${at}`).toBe(step.ran.length);
    }
  });
});
