import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { ModelEvent, ModelRequest } from "../../../src/contract/model.ts";
import { anthropicTurn, chatTurn } from "../../support/wires.ts";
import { collect, providerWith } from "./support/harness.ts";

/** The vendors' own clients as a second opinion: their types on what is sent, their parsers on what comes back. */
const PROPERTIES = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;
const REQUEST: ModelRequest = {
  model: "claude-sonnet-4-6",
  system: [{ text: "Be brief.", cache: true }, { text: "Today is Monday." }],
  messages: [
    { role: "user", content: [{ type: "text", text: "Look at a" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", text: "hm", provider_metadata: { anthropic_signature: "c2ln" } },
        { type: "tool_use", id: "toolu_1", name: "Read", input: { path: "a" } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "alpha" }] },
  ],
  tools: [{ name: "Read", description: "Reads a file.", inputSchema: PROPERTIES }],
  maxTokens: 4_096,
  thinkingBudget: 2_048,
  stopSequences: ["END"],
};
const TURN = {
  text: "Grüße 👋🏽 from here",
  calls: [
    { id: "toolu_2", name: "Read", input: { path: "b" } },
    { id: "toolu_3", name: "Read", input: { path: "c" } },
  ],
};

function answered(chunks: readonly string[]): Response {
  return new Response(chunks.join(""), { headers: { "content-type": "text/event-stream" } });
}

function blocks(events: readonly ModelEvent[]): { text: string; thinking: string; calls: unknown[] } {
  const all = events.flatMap((event) => (event.type === "block" ? [event.block] : []));
  const words = (type: "text" | "thinking") => all.map((b) => (b.type === type ? b.text : "")).join("");
  return {
    text: words("text"),
    thinking: words("thinking"),
    calls: all.flatMap((b) => (b.type === "tool_use" ? [{ id: b.id, name: b.name, input: b.input }] : [])),
  };
}

// spec: R-1 R-3 R-8 R-9
describe("the Messages wire beside Anthropic's client", () => {
  const chunks = anthropicTurn({ ...TURN, thinking: "let me see" }).chunks;

  test("sends what the client's types allow", async () => {
    const allowed = {
      model: "claude-sonnet-4-6",
      stream: true,
      max_tokens: 4_096,
      thinking: { type: "enabled", budget_tokens: 2_048 },
      stop_sequences: ["END"],
      system: [
        { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
        { type: "text", text: "Today is Monday." },
      ],
      tools: [
        {
          name: "Read",
          description: "Reads a file.",
          input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
          cache_control: { type: "ephemeral" },
        },
      ],
      messages: [
        { role: "user", content: [{ type: "text", text: "Look at a" }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: "c2ln" },
            { type: "tool_use", id: "toolu_1", name: "Read", input: { path: "a" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: "alpha",
              cache_control: { type: "ephemeral" },
            },
          ],
        },
      ],
    } satisfies Anthropic.MessageCreateParamsStreaming;
    const { provider, sent } = providerWith("anthropic", [answered(chunks)]);
    await collect(provider, REQUEST);
    expect(sent[0]?.body).toEqual(allowed);
  });

  test("reads a stream as the client does", async () => {
    const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: async () => answered(chunks) });
    const message = await client.messages
      .stream({ model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] })
      .finalMessage();
    const events = await collect(providerWith("anthropic", [answered(chunks)]).provider);
    const theirs = {
      text: message.content.map((b) => (b.type === "text" ? b.text : "")).join(""),
      thinking: message.content.map((b) => (b.type === "thinking" ? b.thinking : "")).join(""),
      calls: message.content.flatMap((b) =>
        b.type === "tool_use" ? [{ id: b.id, name: b.name, input: b.input }] : [],
      ),
    };
    expect(blocks(events)).toEqual(theirs);
    expect(theirs).toEqual({ text: TURN.text, thinking: "let me see", calls: TURN.calls });
    expect(events.at(-1)).toMatchObject({
      stop: message.stop_reason,
      usage: { input: message.usage.input_tokens, output: message.usage.output_tokens },
    });
  });
});

// spec: R-1
describe("the Chat Completions wire beside OpenAI's client", () => {
  const { chunks } = chatTurn(TURN);

  test("sends what the client's types allow", async () => {
    const allowed = {
      model: "gpt-4.1",
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 4_096,
      stop: ["END"],
      tools: [
        {
          type: "function",
          function: {
            name: "Read",
            description: "Reads a file.",
            parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
          },
        },
      ],
      messages: [
        { role: "system", content: "Be brief.\n\nToday is Monday." },
        { role: "user", content: "Look at a" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "toolu_1", type: "function", function: { name: "Read", arguments: '{"path":"a"}' } }],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "alpha" },
      ],
    } satisfies OpenAI.ChatCompletionCreateParamsStreaming;
    const { provider, sent } = providerWith("openai", [answered(chunks)]);
    await collect(provider, { ...REQUEST, model: "gpt-4.1" });
    expect(sent[0]?.body).toEqual(allowed);
  });

  test("reads a stream as the client does", async () => {
    const client = new OpenAI({ apiKey: "k", maxRetries: 0, fetch: async () => answered(chunks) });
    const completion = await client.chat.completions
      .stream({ model: "m", messages: [{ role: "user", content: "hi" }], stream_options: { include_usage: true } })
      .finalChatCompletion();
    const message = completion.choices[0]?.message;
    const events = await collect(providerWith("openai", [answered(chunks)]).provider);
    const theirs = {
      text: message?.content,
      thinking: "",
      calls: (message?.tool_calls ?? []).flatMap((call) =>
        call.type === "function"
          ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }]
          : [],
      ),
    };
    expect(blocks(events)).toEqual(theirs);
    expect(theirs).toEqual({ text: TURN.text, thinking: "", calls: TURN.calls });
    expect(events.at(-1)).toMatchObject({ stop: "tool_use", usage: { input: 10, output: 5 } });
    expect(completion.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
  });
});
