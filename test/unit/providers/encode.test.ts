import { expect, test } from "vitest";
import type { Message } from "../../../src/contract/messages.ts";
import { geminiParameters } from "../../../src/providers/gemini/schema.ts";
import { createMessagesEncoder } from "../../../src/providers/messages-wire/encode.ts";
import { answer, collect, providerWith, REQUEST, sse } from "./support/harness.ts";

const sentBy = async (name: string, request: Partial<typeof REQUEST>) => {
  const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)]);
  await collect(provider, { ...REQUEST, ...request });
  return sent[0]?.body as { messages: { role: string; content: unknown }[]; [key: string]: unknown };
};

test("encodes a message once, however often the history goes out", () => {
  const encoder = createMessagesEncoder({ vendor: "v", images: true });
  let reads = 0;
  const block = {
    type: "text" as const,
    get text() {
      reads += 1;
      return "Hello";
    },
  };
  const messages: Message[] = [{ role: "user", content: [block] }];
  encoder.messages({ ...REQUEST, messages }, false);
  const first = reads;
  const again = encoder.messages(
    { ...REQUEST, messages: [...messages, { role: "assistant", content: [{ type: "text", text: "Hi" }] }] },
    false,
  );
  expect(reads).toBe(first);
  expect(again.json).toContain("Hello");
});

test("gives the same body for copies of a history as for the same objects", async () => {
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "r" }] },
  ];
  for (const name of ["anthropic", "openai", "gemini"]) {
    expect(await sentBy(name, { messages: structuredClone(messages) })).toEqual(await sentBy(name, { messages }));
  }
});

// spec: R-8
test("marks at most four ends of cached prefixes, the last of the history among them", async () => {
  const body = await sentBy("anthropic", {
    system: ["a", "b", "c"].map((text) => ({ text, cache: true })),
    tools: [{ name: "t", description: "", inputSchema: {} }],
    messages: [
      { role: "user", content: [{ type: "text", text: "1" }] },
      { role: "assistant", content: [{ type: "text", text: "2" }] },
      { role: "user", content: [{ type: "text", text: "3" }] },
    ],
  });
  expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
  expect(JSON.stringify(body.messages.at(-1))).toContain("ephemeral");
});

// spec: R-3
test("sends thinking back only to the vendor that signed it", async () => {
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "q" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", text: "hm", provider_metadata: { anthropic_signature: "sig" } },
        { type: "text", text: "a" },
      ],
    },
    { role: "user", content: [{ type: "text", text: "q2" }] },
  ];
  expect(JSON.stringify(await sentBy("anthropic", { messages }))).toContain('"signature":"sig"');
  for (const name of ["minimax", "openai", "openrouter", "gemini", "ollama"])
    expect(JSON.stringify(await sentBy(name, { messages }))).not.toContain('sig"');
});

test("leaves thinking off while results go back for calls made without it", async () => {
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "q" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "r" }] },
  ];
  expect((await sentBy("anthropic", { messages, thinkingBudget: 2_000, maxTokens: 8_000 })).thinking).toBeUndefined();
});

// spec: T-2
test("sends a call whose id came twice once, with its one result", async () => {
  const messages: Message[] = [
    { role: "user", content: [{ type: "text", text: "q" }] },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "1", name: "t", input: {} },
        { type: "tool_use", id: "1", name: "t", input: { again: true } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "r" }] },
  ];
  for (const name of ["anthropic", "openai", "gemini"])
    expect(JSON.stringify(await sentBy(name, { messages }))).not.toContain("again");
});

// spec: R-9
test("keeps OpenRouter's thinking budget below the output limit", async () => {
  const body = await sentBy("openrouter", { model: "anthropic/x", thinkingBudget: 4_000, maxTokens: 2_000 });
  expect(body).toMatchObject({ max_tokens: 2_000, reasoning: { max_tokens: 1_500 } });
});

// spec: R-9
test.each([
  ["claude-opus-4-7", "adaptive"],
  ["claude-opus-4-8-20260601", "adaptive"],
  ["claude-sonnet-5", "adaptive"],
  ["claude-sonnet-4-6", "enabled"],
  ["claude-opus-4-20250514", "enabled"],
])("%s thinks %s", async (model, type) => {
  expect(await sentBy("anthropic", { model, thinkingBudget: 2_000, maxTokens: 8_000 })).toMatchObject({
    thinking: { type, ...(type === "adaptive" ? { display: "summarized" } : { budget_tokens: 2_000 }) },
  });
  // Adaptive models refuse a temperature, also without thinking.
  expect((await sentBy("anthropic", { model, temperature: 0.2 })).temperature).toBe(
    type === "adaptive" ? undefined : 0.2,
  );
});

// spec: R-9
test.each(["gemini-3-pro-preview", "gemini-flash-latest", "gemini-flash-lite-latest"])(
  "%s is told a level, and foreign calls get the stand-in signature",
  async (model) => {
    const messages: Message[] = [
      { role: "user", content: [{ type: "text", text: "q" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "r" }] },
    ];
    const body = await sentBy("gemini", { model, messages, thinkingBudget: 9_000 });
    expect(body).toMatchObject({ generationConfig: { thinkingConfig: { thinkingLevel: "high" } } });
    expect(JSON.stringify(body.contents)).toContain("skip_thought_signature_validator");
  },
);

test("keeps a schema whose references point at each other small", () => {
  const names = Array.from({ length: 12 }, (_, n) => `N${n}`);
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
  const $defs = Object.fromEntries(names.map((name) => [name, { type: "object", properties }]));
  const json = JSON.stringify(
    geminiParameters({ $defs, type: "object", properties: { root: { $ref: "#/$defs/N0" } } }),
  );
  expect(json).not.toContain("$ref");
  expect(json.length).toBeLessThan(200_000);
});

test("rewrites references, unions and unknown keywords for Gemini, and keeps properties named like keywords", () => {
  const schema = {
    $defs: { mode: { const: "fast" } },
    type: "object",
    properties: {
      default: { type: "string", default: "x" },
      mode: { $ref: "#/$defs/mode" },
      either: { oneOf: [{ type: "string" }, { type: "integer", exclusiveMinimum: 0 }, { type: "null" }] },
      list: { type: "array" },
    },
    required: ["default", "gone"],
  };
  expect(geminiParameters(schema)).toEqual({
    type: "object",
    properties: {
      default: { type: "string" },
      mode: { type: "string", enum: ["fast"] },
      either: { nullable: true, anyOf: [{ type: "string" }, { type: "integer" }] },
      list: { type: "array", items: { type: "string" } },
    },
    required: ["default"],
  });
  expect(geminiParameters({ type: "object", properties: {} })).toBeUndefined();
});
