import { describe, expect, test } from "vitest";
import { collect, providerWith, settle } from "./support/harness.ts";
import { blocksOf, live, raw, run } from "./support/odd.ts";

/** What servers of the Messages wire do that their documents do not say. */
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
