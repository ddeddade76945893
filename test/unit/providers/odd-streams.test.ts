import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/contract/messages.ts";
import type { ModelEvent } from "../../../src/contract/model.ts";
import { ThinkTags } from "../../../src/providers/chat-completions/think-tags.ts";
import { collect, HandClock, providerWith, REQUEST, settle, sse } from "./support/harness.ts";

/** What servers and gateways do that their documents do not say. */
const run = async (name: string, ...frames: readonly unknown[]) =>
  collect(providerWith(name, [sse(...frames)]).provider);
const blocksOf = (events: readonly ModelEvent[]) => events.flatMap((e) => (e.type === "block" ? [e.block] : []));
const raw = (text: string, headers: Record<string, string> = { "content-type": "text/event-stream" }) =>
  new Response(text, { headers });
/** A body that gives its text and then breaks off. */
const breaking = (text: string) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      if (text !== "") controller.enqueue(new TextEncoder().encode(text));
    },
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
/** A stream whose frames come when the test says so, and how its answer came out. */
function live(name: string) {
  const clock = new HandClock();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  // Frames sent after the reader has gone are nobody's.
  const send = (frame: unknown) =>
    void writer.write(new TextEncoder().encode(`data: ${JSON.stringify(frame)}\n\n`)).catch(() => {});
  const limits = { firstEventMs: 60_000, idleMs: 60_000 };
  const events = collect(providerWith(name, [new Response(readable)], { clock, limits }).provider);
  return { clock, send, events, close: () => void writer.close() };
}
const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const fragment = (...tool_calls: readonly object[]) => chunk({ tool_calls });

/** What goes out when the answer is put into the history and a next message follows. */
async function replayed(name: string, events: readonly ModelEvent[]): Promise<Record<string, unknown>> {
  const { provider, sent } = providerWith(name, [new Error("not answered")]);
  const content = blocksOf(events);
  const results = content.flatMap((b) =>
    b.type === "tool_use" ? [{ type: "tool_result" as const, tool_use_id: b.id, content: "r" }] : [],
  );
  const messages: Message[] = [
    ...REQUEST.messages,
    { role: "assistant", content },
    { role: "user", content: [...results, { type: "text", text: "next" }] },
  ];
  await collect(provider, { ...REQUEST, messages });
  return sent[0]?.body ?? {};
}

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

// spec: R-1
describe("messages", () => {
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const delta = (index: number, d: object) => ({ type: "content_block_delta", index, delta: d });
  const json = (index: number, partial_json: string) => delta(index, { type: "input_json_delta", partial_json });
  const end = (stop_reason: string) => ({ type: "message_delta", delta: { stop_reason } });

  test("skips the deltas of a block it does not know, whatever their type", async () => {
    const events = await run(
      "anthropic",
      start(0, { type: "future_block" }),
      delta(0, { type: "text_delta", text: "hidden" }),
      start(1, { type: "text", text: "Hi" }),
      end("end_turn"),
    );
    expect(blocksOf(events)).toMatchObject([{ text: "Hi" }]);
  });

  test("keeps calls apart that share an index and have no end", async () => {
    const tool = (id: string) => start(0, { type: "tool_use", id, name: "go", input: {} });
    const events = await run("minimax", tool("a"), json(0, '{"x":1}'), tool("b"), json(0, '{"x":2}'), end("tool_use"));
    expect(blocksOf(events)).toMatchObject([
      { id: "a", input: { x: 1 } },
      { id: "b", input: { x: 2 } },
    ]);
  });

  test.each([
    ["text", { type: "text_delta", text: "" }],
    ["thinking", { type: "thinking_delta", thinking: "" }],
    ["tool_use", { type: "input_json_delta", partial_json: "" }],
  ])("empty pieces of %s keep no dead stream alive", async (type, d) => {
    const { clock, send, events } = live("anthropic");
    send(start(0, { type, id: "a", name: "go" }));
    for (let n = 0; n < 4; n++) {
      await settle();
      send(delta(0, d));
      await settle();
      clock.advance(20_000);
    }
    expect((await events).at(-1)).toMatchObject({ failure: { category: "timeout" } });
  });

  test("takes the name of the event for a type that is missing", async () => {
    const named = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    const body = raw(
      named("content_block_start", { index: 0, content_block: { type: "text", text: "Hi" } }) +
        named("message_delta", { delta: { stop_reason: "end_turn" } }),
    );
    const events = await collect(providerWith("anthropic", [body]).provider);
    expect(blocksOf(events)).toMatchObject([{ text: "Hi" }]);
  });

  test.each(["anthropic", "gemini", "openai"])("%s: an event named error is one, whatever its data", async (name) => {
    const body = raw('event: error\ndata: {"message":"Overloaded","code":529}\n\n');
    expect((await collect(providerWith(name, [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "overloaded" },
    });
  });

  test("adds up what was written to the cache when only its parts are told", async () => {
    const usage = {
      input_tokens: 7,
      output_tokens: 1,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 5 },
    };
    expect(
      (await run("anthropic", { type: "message_start", message: { usage } }, end("end_turn"))).at(-1),
    ).toMatchObject({
      usage: { input: 7, output: 1, cache_write: 25 },
    });
  });

  test("a repeated message does not change how an answer without text ended", async () => {
    expect(
      (await run("minimax", end("max_tokens"), { type: "message", content: [], stop_reason: null })).at(-1),
    ).toMatchObject({ stop: "max_tokens" });
  });

  test("a message that carries an error is one, and its wait may stand in a header", async () => {
    const body = () =>
      Response.json(
        { type: "message", content: [], base_resp: { status_code: 1002, status_msg: "x" } },
        { headers: { "retry-after": "5" } },
      );
    expect((await collect(providerWith("minimax", [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "rate_limit", retryAfterMs: 5_000 },
    });
  });
});

// spec: R-1
test.each([
  ["openai", [fragment({ index: 0, id: "a", function: { arguments: "{}" } }), chunk({}, "tool_calls")]],
  ["gemini", [{ candidates: [{ content: { parts: [{ functionCall: { args: {} } }] }, finishReason: "STOP" }] }]],
  [
    "anthropic",
    [
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a", input: { x: 1 } } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
    ],
  ],
])("%s: a call without a name is no call, and an answer of nothing else is worth another try", async (name, frames) => {
  const events = await run(name, ...frames);
  expect(blocksOf(events)).toEqual([]);
  expect(events.at(-1)).toMatchObject({ failure: { category: "malformed_response", retryable: true } });
});

// spec: R-3
describe("signatures of gemini", () => {
  const parts = (list: readonly object[], finishReason?: string) => ({
    candidates: [{ content: { parts: list }, ...(finishReason ? { finishReason } : {}) }],
  });
  const signatures = async (events: readonly ModelEvent[]) => {
    const { contents } = (await replayed("gemini", events)) as { contents: { parts: Record<string, unknown>[] }[] };
    return contents[1]?.parts.map((part) => [part.text, part.thoughtSignature]);
  };

  test("two of one kind are never joined", async () => {
    const events = await run(
      "gemini",
      parts([{ text: "a", thoughtSignature: "S1" }]),
      parts([{ text: "b", thoughtSignature: "S2" }], "STOP"),
    );
    expect(await signatures(events)).toEqual([
      ["a", "S1"],
      ["b", "S2"],
    ]);
  });

  test("one that comes alone before a call is kept", async () => {
    const events = await run(
      "gemini",
      parts([{ text: "", thoughtSignature: "S" }]),
      parts([{ functionCall: { name: "go", args: {} } }], "STOP"),
    );
    expect(await signatures(events)).toEqual([
      ["", "S"],
      [undefined, undefined],
    ]);
  });
});

// spec: R-4
describe("a stop reason that comes too early", () => {
  const gemini = (text: string, finishReason?: string) => ({
    candidates: [{ content: { parts: text === "" ? [] : [{ text }] }, ...(finishReason ? { finishReason } : {}) }],
  });
  test.each([
    ["openai", chunk({}, "stop"), chunk({ content: "a" }), chunk({ content: "b" }), chunk({}, "stop")],
    ["gemini", gemini("", "STOP"), gemini("a"), gemini("b"), gemini("", "STOP")],
  ])("%s: the answer goes on after more silence than a tail may have", async (name, early, a, b, end) => {
    const { clock, send, events, close } = live(name);
    for (const frame of [early, a, b, end]) {
      send(frame);
      await settle();
      if (frame !== end) clock.advance(20_000);
    }
    close();
    expect(blocksOf(await events)).toMatchObject([{ text: "ab" }]);
  });
});

// spec: R-4
describe("bodies that break off or are no stream", () => {
  const last = JSON.stringify(chunk({ content: "x" }, "stop"));

  test("a whole last frame counts even if the connection broke after it", async () => {
    const body = () => new Response(breaking(`data: ${last}`));
    expect((await collect(providerWith("openai", [body]).provider)).at(-1)).toMatchObject({ stop: "end_turn" });
    const cut = () => new Response(breaking(`data: ${last.slice(0, -3)}`));
    expect((await collect(providerWith("openai", [cut]).provider)).at(-1)).toMatchObject({
      failure: { category: "network" },
    });
  });

  test("a whole error document counts even if the connection broke after it", async () => {
    const body = () => new Response(breaking('{"error":{"code":"invalid_api_key","message":"no"}}'));
    expect((await collect(providerWith("openai", [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "auth" },
    });
  });

  test("an error whose body breaks off at once is still that error", async () => {
    const body = () => new Response(breaking(""), { status: 500 });
    expect((await collect(providerWith("gemini", [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "server", status: 500 },
    });
  });

  test("a document in a shape of its own is read as the error it tells", async () => {
    const body = () => Response.json({ code: 401, msg: "invalid key", success: false });
    expect((await collect(providerWith("openai", [body]).provider)).at(-1)).toMatchObject({
      failure: { category: "auth" },
    });
  });
});
