import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../../src/contract/model.ts";
import { ThinkTags } from "../../../src/providers/chat-completions/think-tags.ts";
import { collect, providerWith, sse } from "./support/harness.ts";

const run = async (name: string, ...frames: readonly unknown[]) =>
  collect(providerWith(name, [sse(...frames)]).provider);
const calls = (events: readonly ModelEvent[]) =>
  events.flatMap((e) => (e.type === "block" && e.block.type === "tool_use" ? [e.block] : []));
const text = (events: readonly ModelEvent[]) => events.map((e) => (e.type === "text_delta" ? e.text : "")).join("");
const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const fragment = (f: object) => chunk({ tool_calls: [f] });

describe("chat completions", () => {
  test("begins a new call at a new name when there is neither id nor index", async () => {
    const events = await run(
      "ollama",
      fragment({ function: { name: "a", arguments: "{}" } }),
      fragment({ function: { name: "a", arguments: '{"x":1}' } }),
      fragment({ function: { name: "b", arguments: "" } }),
      chunk({}, "stop"),
    );
    expect(calls(events).map((c) => [c.name, c.input])).toEqual([
      ["a", {}],
      ["a", { x: 1 }],
      ["b", {}],
    ]);
    expect(new Set(calls(events).map((c) => c.id)).size).toBe(3);
    expect(events.at(-1)).toMatchObject({ stop: "tool_use" });
  });

  test("keeps one call whose id and name come with every fragment", async () => {
    const f = (args: string) => fragment({ index: 0, id: "c1", function: { name: "go", arguments: args } });
    expect(calls(await run("openai", f('{"a"'), f(":1}"), f(""), chunk({}, "tool_calls")))).toMatchObject([
      { id: "c1", name: "go", input: { a: 1 } },
    ]);
  });

  test("takes arguments that are an object, and gives equal ids a different one", async () => {
    const events = await run(
      "openai",
      fragment({ index: 0, id: "x", function: { name: "a", arguments: { p: 1 } } }),
      fragment({ index: 1, id: "x", function: { name: "b", arguments: "{}" } }),
      chunk({}, "tool_calls"),
    );
    expect(calls(events).map((c) => c.input)).toEqual([{ p: 1 }, {}]);
    expect(new Set(calls(events).map((c) => c.id)).size).toBe(2);
  });

  test("drops a call without arguments that the output limit cut", async () => {
    const events = await run(
      "openai",
      fragment({ index: 0, id: "x", function: { name: "rm", arguments: "" } }),
      chunk({}, "length"),
    );
    expect(calls(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ stop: "max_tokens" });
  });

  test("does not show a message twice that the last object repeats", async () => {
    expect(
      text(
        await run("openai", chunk({ content: "Hi" }), {
          object: "chat.completion",
          choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }],
        }),
      ),
    ).toBe("Hi");
  });

  test("reads a whole answer that is no stream", async () => {
    const body = Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    });
    const events = await collect(providerWith("lmstudio", [body]).provider);
    expect(text(events)).toBe("Hi");
    expect(events.at(-1)).toMatchObject({ stop: "end_turn", usage: { input: 3, output: 1 } });
  });

  test("reads an LM Studio error event", async () => {
    const body = new Response(
      'event: error\ndata: {"error":{"message":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"},"message":"x"}\n\n',
      { headers: { "content-type": "text/event-stream" } },
    );
    expect((await collect(providerWith("lmstudio", [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "prompt_too_long", tokenGap: 4904 },
    });
  });

  test("takes the price an OpenRouter answer names", async () => {
    const events = await run(
      "openrouter",
      chunk({ content: "Hi" }, "stop"),
      {
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 2,
          cost: 0.5,
          prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
        },
      },
      "[DONE]",
    );
    expect(events.at(-1)).toMatchObject({
      costUsd: 0.5,
      usage: { input: 3, output: 2, cache_read: 4, cache_write: 3 },
    });
  });

  test("splits think tags the same wherever they are cut", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          "<think>a < b</think>\n\nc < d",
          "<thin>x",
          "  <think>\nab</thi</think>x</think>",
          "plain",
          "<think>open",
        ),
        fc.array(fc.nat(60)),
        (whole, cuts) => {
          const split = (points: readonly number[]) => {
            const out = { text: "", thinking: "" };
            const tags = new ThinkTags();
            const emit = (kind: "text" | "thinking", piece: string) => {
              out[kind] += piece;
            };
            const all = [...new Set([0, ...points.map((p) => Math.min(p, whole.length)), whole.length])].sort(
              (a, b) => a - b,
            );
            all.slice(1).forEach((end, n) => void tags.push(whole.slice(all[n], end), emit));
            tags.flush(emit);
            return out;
          };
          expect(split(cuts)).toEqual(split([]));
        },
      ),
    );
  });
});

describe("messages", () => {
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const json = (index: number, partial_json: string) => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json },
  });
  const stop = (index: number) => ({ type: "content_block_stop", index });
  const end = (stop_reason: string) => [
    { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  const tool = { type: "tool_use", id: "t", name: "go", input: {} };

  test("hands out a call without arguments, in order", async () => {
    const events = await run(
      "anthropic",
      start(0, tool),
      stop(0),
      start(1, { ...tool, id: "u" }),
      json(1, '{"a":1}'),
      stop(1),
      ...end("tool_use"),
    );
    expect(calls(events)).toMatchObject([
      { id: "t", input: {} },
      { id: "u", input: { a: 1 } },
    ]);
  });

  test.each(["", '{"a":'])("drops a call the output limit cut at %j", async (args) => {
    const events = await run("anthropic", start(0, tool), json(0, args), stop(0), ...end("max_tokens"));
    expect(calls(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "finished", stop: "max_tokens" });
  });

  test("reports broken arguments of a turn that ended normally", async () => {
    const events = await run("anthropic", start(0, tool), json(0, "{oops"), stop(0), ...end("tool_use"));
    expect(calls(events)).toMatchObject([{ input: {}, input_error: true, raw_input: "{oops" }]);
  });

  test("skips blocks and events of later versions", async () => {
    const events = await run(
      "anthropic",
      start(0, { type: "server_tool_use", id: "s", name: "web", input: {} }),
      json(0, "{}"),
      stop(0),
      { type: "new_thing" },
      start(1, { type: "text", text: "Hi" }),
      stop(1),
      ...end("end_turn"),
    );
    expect(events.map((e) => e.type)).toEqual(["text_delta", "block", "finished"]);
  });

  test.each([
    ["pause_turn", "pause_turn"],
    ["refusal", "refusal"],
    ["model_context_window_exceeded", "context_window"],
  ])("%s ends as %s", async (word, expected) => {
    expect((await run("anthropic", start(0, { type: "text", text: "x" }), stop(0), ...end(word))).at(-1)).toMatchObject(
      { stop: expected, stopDetail: word },
    );
  });
});

describe("gemini", () => {
  const parts = (...list: readonly object[]) => ({ candidates: [{ content: { role: "model", parts: list } }] });
  test("keeps a signature that comes with an empty part, and echoes a call's id", async () => {
    const events = await run(
      "gemini",
      parts({ text: "Hi" }),
      parts({ text: "", thoughtSignature: "s1" }),
      parts({ functionCall: { id: "f1", name: "go" } }),
      { candidates: [{ finishReason: "STOP" }] },
    );
    const [first, second] = events.flatMap((e) => (e.type === "block" ? [e.block] : []));
    expect(first).toMatchObject({ type: "text", text: "Hi", provider_metadata: { gemini_signature: "s1" } });
    expect(second).toMatchObject({
      type: "tool_use",
      id: "f1",
      input: {},
      provider_metadata: { gemini_call_id: "f1" },
    });
    expect(events.at(-1)).toMatchObject({ stop: "tool_use" });
  });

  test("does not count thoughts twice when the sum shows they are inside", async () => {
    const usage = { promptTokenCount: 10, candidatesTokenCount: 8, thoughtsTokenCount: 5, totalTokenCount: 18 };
    expect(
      (
        await run(
          "gemini",
          { ...parts({ text: "x" }), usageMetadata: usage },
          { candidates: [{ finishReason: "STOP" }] },
        )
      ).at(-1),
    ).toMatchObject({ usage: { input: 10, output: 8 } });
  });

  test("reads the array a server sends without alt=sse", async () => {
    const body = Response.json([parts({ text: "Hi" }), { candidates: [{ finishReason: "STOP" }] }]);
    expect(text(await collect(providerWith("gemini", [body]).provider))).toBe("Hi");
  });
});
