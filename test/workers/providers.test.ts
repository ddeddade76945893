import { describe, expect, test, vi } from "vitest";
import type { Reply } from "../support/scripted-upstream.ts";
import { anthropicTurn, chatTurn, geminiTurn, type Turn, upTo } from "../support/wires.ts";
import { call, createSession, script, seen, send } from "./support/client.ts";

type Wire = "messages" | "chat" | "gemini";
const PROVIDERS: readonly (readonly [name: string, model: string, wire: Wire])[] = [
  ["anthropic", "claude-sonnet-4-6", "messages"],
  ["openai", "gpt-4.1", "chat"],
  ["openrouter", "meta-llama/llama-4", "chat"],
  ["minimax", "MiniMax-M2.7", "messages"],
  ["gemini", "gemini-2.0-flash", "gemini"],
  ["ollama", "llama3.3:latest", "chat"],
  ["lmstudio", "qwen3", "chat"],
];
const TURNS = { messages: anthropicTurn, chat: chatTurn, gemini: geminiTurn } as const;
const STOPS: Readonly<Record<Wire, { readonly limit: string; readonly sequence: string }>> = {
  messages: { limit: "max_tokens", sequence: "stop_sequence" },
  chat: { limit: "length", sequence: "stop" },
  gemini: { limit: "MAX_TOKENS", sequence: "STOP" },
};
const PLAIN = ["turn_start", "text_delta", "text", "turn_end", "done"];

function failure(status: number, message: string): Reply {
  return {
    status,
    headers: { "content-type": "application/json", "retry-after-ms": "5" },
    chunks: [JSON.stringify({ error: { message } })],
  };
}

// spec: R-1 R-4 T-5
describe.concurrent.each(PROVIDERS)("%s", (provider, model, wire) => {
  const turn = (parts: Turn, more: Partial<Reply> = {}): Reply => TURNS[wire](parts, more);
  const start = async (name: string, replies: readonly Reply[], body: Record<string, unknown> = {}) => {
    const id = `p-${provider}-${name}`;
    await script(id, replies);
    await createSession(id);
    return { id, stream: await send(id, id, { prompt: "hi", provider, model, ...body }) };
  };
  const run = async (name: string, replies: readonly Reply[], body: Record<string, unknown> = {}) => {
    const { id, stream } = await start(name, replies, body);
    const events = await stream.toEnd();
    return {
      types: stream.types().filter((type) => type !== "tool_progress"),
      last: events.at(-1)?.data,
      text: events.find((event) => event.type === "text")?.data.text,
      results: events.filter((event) => event.type === "tool_result").map((event) => event.data),
      of: (type: string) => events.find((event) => event.type === type)?.data,
      requests: await seen(id),
    };
  };

  test("answers with plain text, its tokens and its price", async () => {
    const { types, text, last, requests } = await run("plain", [turn({ text: "Hello there." })]);
    expect(types).toEqual(PLAIN);
    expect(text).toBe("Hello there.");
    expect(last).toMatchObject({ stop_reason: "end_turn", total_input_tokens: 10, total_output_tokens: 5 });
    const free = provider === "ollama" || provider === "lmstudio";
    expect(Number(last?.cost_usd) > 0).toBe(!free);
    expect(requests).toHaveLength(1);
  });

  test("shows thinking before the answer", async () => {
    // spec: R-9
    const replies = [turn({ thinking: "hm, let me see", text: "So it is." })];
    const { types, of } = await run("thinking", replies, { thinking_budget: 2048 });
    expect(types).toEqual(["turn_start", "thinking_delta", "thinking", ...PLAIN.slice(1)]);
    expect(of("thinking")?.text).toBe("hm, let me see");
  });

  test("runs a tool call and gives its result back", async () => {
    const write = { id: "call_w", name: "Write", input: { file_path: "a.txt", content: "alpha\n" } };
    const { types, results, requests } = await run("tool", [turn({ calls: [write] }), turn({ text: "done" })]);
    expect(results).toMatchObject([{ is_error: false }]);
    expect(types).toEqual(["turn_start", "tool_use", "tool_result", "turn_end", ...PLAIN]);
    expect(JSON.stringify(requests[1]?.body)).toContain("alpha");
  });

  test("runs parallel calls and answers each by its own result", async () => {
    const calls = [
      { id: "call_g", name: "Glob", input: { pattern: "*.nothing" } },
      { id: "call_h", name: "Glob", input: { pattern: "*.neither" } },
    ];
    const { results, requests } = await run("parallel", [turn({ text: "both", calls }), turn({ text: "done" })]);
    expect(results.map((result) => result.is_error)).toEqual([false, false]);
    expect(new Set(results.map((result) => result.id)).size).toBe(2);
    const sent = JSON.stringify(requests[1]?.body);
    expect(sent).toContain("*.nothing");
    expect(sent.match(/tool_call_id|tool_use_id|functionResponse/g)).toHaveLength(2);
  });

  test("passes stop sequences on and ends where the model stopped", async () => {
    const replies = [turn({ text: "one two", stop: STOPS[wire].sequence })];
    const { last, text, requests } = await run("stop", replies, { stop_sequences: ["END!"] });
    expect(JSON.stringify(requests[0]?.body)).toContain('["END!"]');
    expect(text).toBe("one two");
    expect(["end_turn", "stop_sequence"]).toContain(last?.stop_reason);
  });

  test("says that the output limit cut the answer", async () => {
    const { types, last } = await run("limit", [turn({ text: "half", stop: STOPS[wire].limit })], { max_turns: 1 });
    expect(types.slice(0, 3)).toEqual(PLAIN.slice(0, 3));
    expect(JSON.stringify(last)).toContain("max_t");
  });

  test("asks for fewer tokens once when the provider says how many fit", async () => {
    const text = "input length and `max_tokens` exceed context limit: 190000 + 8192 > 195000";
    const { types, requests } = await run("overflow", [failure(400, text), turn({ text: "fits" })]);
    expect(types).toEqual(PLAIN);
    expect(requests).toHaveLength(2);
    expect(JSON.stringify(requests[0]?.body)).toContain("8192");
    expect(JSON.stringify(requests[1]?.body)).toContain("4984");
  });

  test.each([429, wire === "messages" ? 529 : 503])("tries again after status %i, unseen", async (status) => {
    const { types, requests } = await run(`s${status}`, [failure(status, "later"), turn({ text: "now" })]);
    expect(types).toEqual(PLAIN);
    expect(requests).toHaveLength(2);
  });

  test("tries again, unseen, when the stream is cut before any text", async () => {
    const cut: Reply = { chunks: [": open\n\n"], everyMs: 20, end: "abort" };
    const { types, requests } = await run("cut", [cut, turn({ text: "whole" })]);
    expect(types).toEqual(PLAIN);
    expect(requests).toHaveLength(2);
  });

  test("takes the turn back when the stream stalls after text", async () => {
    const stall: Reply = { chunks: upTo(turn({ text: "halfway down" }), "half"), end: "stall" };
    const { types, text, requests } = await run("stall", [stall, turn({ text: "whole" })]);
    expect(types.slice(types.indexOf("turn_restart"))).toEqual(["turn_restart", ...PLAIN.slice(1)]);
    expect(text ?? "").not.toContain("down");
    expect(requests).toHaveLength(2);
  }, 15_000);

  test("puts characters together that were split between pieces", async () => {
    const words = "Grüße 👋🏽 こんにちは";
    const { text } = await run("unicode", [turn({ text: words }, { splitBytes: 7, everyMs: 1 })]);
    expect(text).toBe(words);
  });

  test("drops the model call when the run is cancelled", async () => {
    const stall: Reply = { chunks: upTo(turn({ text: "a long story" }), "a lo"), end: "stall" };
    const { id, stream } = await start("abort", [stall]);
    await stream.until("text_delta");
    expect((await call(`/v1/sessions/${id}/cancel`, { method: "POST" })).status).toBe(200);
    await stream.toEnd();
    expect(stream.seen.at(-1)?.data).toMatchObject({ stop_reason: "cancelled" });
    await vi.waitFor(async () => expect((await seen(id))[0]?.aborted).toBe(true));
  });
});
