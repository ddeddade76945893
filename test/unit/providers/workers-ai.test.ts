import { describe, expect, test } from "vitest";
import { type AiBinding, createProvider } from "../../../src/providers/index.ts";
import { collect, REQUEST, sse } from "./support/harness.ts";

function providerOn(answers: readonly unknown[]) {
  const asked: { model: string; inputs: Record<string, unknown> }[] = [];
  const left = [...answers];
  const binding: AiBinding = {
    async run(model, inputs) {
      asked.push({ model, inputs });
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const made = createProvider("workers-ai", { binding, retry: { tries: 2, baseMs: 1 } });
  if (!made.ok) throw new Error(made.error.message);
  return { provider: made.value, asked };
}
const body = (...frames: readonly unknown[]) => sse(...frames).body;
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

// spec: R-1
describe("workers-ai", () => {
  test("asks the binding and reads the older models' frames", async () => {
    const frames = [
      { response: "Hel", p: "abc" },
      { response: "lo " },
      { response: 42 },
      { response: "", usage: USAGE },
    ];
    const { provider, asked } = providerOn([body(...frames, "[DONE]")]);
    const events = await collect(provider, { ...REQUEST, model: MODEL, system: [{ text: "Be brief." }] });
    expect(events.filter((e) => e.type === "block")).toEqual([
      { type: "block", block: { type: "text", text: "Hello 42" } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "finished", stop: "end_turn", usage: { input: 7, output: 3 } });
    expect(asked).toEqual([
      {
        model: MODEL,
        inputs: {
          stream: true,
          max_tokens: 1_000,
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "Hello" },
          ],
        },
      },
    ]);
  });

  test("reads calls whose arguments are objects, with ids of its own", async () => {
    const calls = [
      { name: "read", arguments: { path: "a" } },
      { name: "read", arguments: { path: "b" } },
    ];
    const { provider } = providerOn([
      body({ response: "", tool_calls: calls }, { response: "", usage: USAGE }, "[DONE]"),
    ]);
    const events = await collect(provider);
    const blocks = events.flatMap((e) => (e.type === "block" && e.block.type === "tool_use" ? [e.block] : []));
    expect(blocks.map((block) => block.input)).toEqual([{ path: "a" }, { path: "b" }]);
    expect(new Set(blocks.map((block) => block.id)).size).toBe(2);
    expect(events.at(-1)).toMatchObject({ stop: "tool_use" });
  });

  test("reads the newer models' chunks", async () => {
    const delta = { role: "assistant", content: 'say "choices"' };
    const { provider } = providerOn([
      body(
        { choices: [{ index: 0, delta }] },
        { choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
        "[DONE]",
      ),
    ]);
    const events = await collect(provider);
    expect(events[0]).toEqual({ type: "text_delta", text: 'say "choices"' });
    expect(events.at(-1)).toMatchObject({ stop: "max_tokens" });
  });

  test("takes an answer that does not stream", async () => {
    const events = await collect(providerOn([{ response: "All at once.", usage: USAGE }]).provider);
    expect(events.map((e) => e.type)).toEqual(["text_delta", "block", "finished"]);
  });

  test("gives assistant messages text even beside calls", async () => {
    const { provider, asked } = providerOn([body({ response: "ok" }, "[DONE]")]);
    const call = { type: "tool_use", id: "a", name: "t", input: {} } as const;
    const result = { type: "tool_result", tool_use_id: "a", content: "fine" } as const;
    await collect(provider, {
      ...REQUEST,
      messages: [...REQUEST.messages, { role: "assistant", content: [call] }, { role: "user", content: [result] }],
    });
    expect(asked[0]?.inputs.messages).toMatchObject([{}, { role: "assistant", content: "" }, { role: "tool" }]);
  });

  test("tries again when the service has no capacity, and says so when a model is unknown", async () => {
    // spec: R-4
    const busy = new Error("3040: Capacity temporarily exceeded, please try again.");
    const again = providerOn([busy, body({ response: "ok" }, "[DONE]")]);
    expect((await collect(again.provider)).at(-1)).toMatchObject({ type: "finished" });
    const unknown = providerOn([new Error("5007: No such model @cf/x or task")]);
    expect((await collect(unknown.provider)).at(-1)).toMatchObject({
      failure: { category: "not_found", retryable: false, message: expect.stringContaining("No such model") },
    });
  });

  // spec: R-4
  test("knows the service's number before the text of an error inside a stream", async () => {
    const { provider } = providerOn([body({ response: "half" }, { error: "3036: out of free tokens" }, "[DONE]")]);
    expect((await collect(provider)).at(-1)).toMatchObject({ failure: { category: "billing", retryable: false } });
  });

  test("counts a stream that ends without its mark as cut", async () => {
    const events = await collect(providerOn([body({ response: "half" })]).provider);
    expect(events.at(-1)).toMatchObject({ failure: { category: "stream_incomplete" } });
  });

  test("is refused without the binding, by its name", () => {
    const made = createProvider("workers-ai", {});
    expect(made.ok ? "" : made.error.message).toContain("binding AI");
  });
});
