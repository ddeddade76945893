import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../../src/contract/model.ts";
import { collect, providerWith, settle } from "./support/harness.ts";
import { blocksOf, breaking, chunk, fragment, live, replayed, run } from "./support/odd.ts";

/** Bodies, ends and parts that no document of a vendor tells of, on every wire. */
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
