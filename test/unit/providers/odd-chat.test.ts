import { describe, expect, test } from "vitest";
import { ThinkTags } from "../../../src/providers/chat-completions/think-tags.ts";
import { blocksOf, chunk, fragment, replayed, run } from "./support/odd.ts";

/** What servers of Chat Completions do that their documents do not say. */
// spec: R-1
describe("tool calls of chat completions", () => {
  const only = async (...frames: readonly unknown[]) =>
    blocksOf(await run("openai", ...frames, chunk({}, "tool_calls")));

  test("a new id for every piece of the arguments is one call", async () => {
    const list = await only(
      fragment({ index: 0, id: "a", function: { name: "go", arguments: '{"x"' } }),
      fragment({ index: 0, id: "b", function: { name: null, arguments: ":1}" } }),
    );
    expect(list).toMatchObject([{ id: "a", name: "go", input: { x: 1 } }]);
  });

  test("an index counted up for every piece is one call", async () => {
    const list = await only(
      fragment({ index: 0, id: "a", function: { name: "go", arguments: '{"x"' } }),
      fragment({ index: 1, id: "a", function: { arguments: ":1}" } }),
    );
    expect(list).toMatchObject([{ id: "a", name: "go", input: { x: 1 } }]);
  });

  test("blank space after whole arguments is no further call", async () => {
    const piece = (args: string) => fragment({ index: 0, id: "a", function: { name: "go", arguments: args } });
    expect(await only(piece('{"x":1}'), piece("\n"))).toMatchObject([{ id: "a", input: { x: 1 } }]);
  });
});

// spec: R-1
describe("arguments sent more than once", () => {
  const piece = (args: string, more: object = {}) =>
    fragment({ index: 0, ...more, function: { ...("id" in more ? { name: "go" } : {}), arguments: args } });
  const first = (args: string) => piece(args, { id: "a" });

  test.each([
    ["whole at the end", [first('{"x"'), piece(":1}"), piece('{"x":1}')]],
    ["all so far at every piece", [first(""), piece('{"x"'), piece('{"x":1'), piece('{"x":1}')]],
    ["the whole call again", [first('{"x":1}'), first('{"x":1}')]],
  ])("%s: one call with the whole", async (_, frames) => {
    expect(blocksOf(await run("openai", ...frames, chunk({}, "tool_calls")))).toMatchObject([
      { id: "a", name: "go", input: { x: 1 } },
    ]);
  });

  test("two different objects are broken, not guessed at", async () => {
    const events = await run("openai", first('{"x":1}'), piece('{"x":2}'), chunk({}, "tool_calls"));
    expect(blocksOf(events)).toMatchObject([{ input_error: true, raw_input: '{"x":1}{"x":2}' }]);
  });

  test("a nested object that looks like its beginning stays what it is", async () => {
    const events = await run("openai", first('{"x":'), piece('{"x":1}'), piece("}"), chunk({}, "tool_calls"));
    expect(blocksOf(events)).toMatchObject([{ input: { x: { x: 1 } } }]);
  });
});

describe("ends and faults of chat completions", () => {
  test.each([
    ["MAX_TOKENS", "max_tokens"],
    ["SAFETY", "refusal"],
    ["model_length", "max_tokens"],
  ])("%s ends as %s", async (word, stop) => {
    expect((await run("openai", chunk({ content: "x" }, word))).at(-1)).toMatchObject({ stop, stopDetail: word });
  });

  test("a base_resp without a code, or with code 0, is no error", async () => {
    for (const base_resp of [{}, { status_code: 0 }, { status_code: "0" }])
      expect((await run("openai", { ...chunk({ content: "x" }, "stop"), base_resp })).at(-1)).toMatchObject({
        type: "finished",
      });
    expect((await run("openai", { base_resp: { status_code: 1008 } })).at(-1)).toMatchObject({ type: "failed" });
  });

  test.each([
    ["openai", chunk({ content: "x" }, "stop")],
    ["gemini", { candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: "STOP" }] }],
    ["anthropic", { type: "message_delta", delta: { stop_reason: "end_turn" } }],
  ])("%s: what cannot be read after the stop reason takes nothing away", async (name, last) => {
    expect((await run(name, last, "oops {")).at(-1)).toMatchObject({ type: "finished", stop: "end_turn" });
    expect((await run(name, "oops {")).at(-1)).toMatchObject({ failure: { category: "malformed_response" } });
  });

  test("pieces of alternating reasoning details find their entry again", async () => {
    const details = (...reasoning_details: readonly object[]) => chunk({ reasoning_details });
    const events = await run(
      "openrouter",
      details({ type: "reasoning.text", text: "a", index: 0 }),
      details({ type: "reasoning.encrypted", data: "E", index: 1 }),
      details({ type: "reasoning.text", signature: "S", index: 0 }),
      fragment({ index: 0, id: "a", function: { name: "go", arguments: "{}" } }),
      chunk({}, "tool_calls"),
    );
    const { messages } = await replayed("openrouter", events);
    expect((messages as { reasoning_details?: unknown }[])[1]?.reasoning_details).toEqual([
      { type: "reasoning.text", text: "a", index: 0, signature: "S" },
      { type: "reasoning.encrypted", data: "E", index: 1 },
    ]);
  });
});

describe("think tags", () => {
  test.each([
    [["<think>", "\n\n", "</think>", "\n\nHi"], "", "Hi"],
    [["<think></th", "ink>Hi"], "", "Hi"],
    [["<think>\n", " a", "</think>Hi"], "\n a", "Hi"],
    [["<think>\n"], "", ""],
  ])("%j: blank thinking is none", (pieces, thinking, text) => {
    const out = { text: "", thinking: "" };
    const tags = new ThinkTags();
    const emit = (kind: "text" | "thinking", piece: string) => {
      out[kind] += piece;
    };
    for (const piece of pieces) tags.push(piece, emit);
    tags.flush(emit);
    expect(out).toEqual({ text, thinking });
  });
});
