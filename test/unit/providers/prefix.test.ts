import { expect, test } from "vitest";
import type { Block, Message } from "../../../src/contract/messages.ts";
import { createChatEncoder } from "../../../src/providers/chat-completions/encode.ts";
import { createGeminiEncoder } from "../../../src/providers/gemini/encode.ts";
import { createMessagesEncoder } from "../../../src/providers/messages-wire/encode.ts";
import { REQUEST } from "./support/harness.ts";

const ENCODERS = {
  messages: () => {
    const encoder = createMessagesEncoder({ vendor: "anthropic", images: true });
    return (messages: readonly Message[], model: string) =>
      encoder.messages({ ...REQUEST, model, messages }, true).json;
  },
  chat: () => {
    const encoder = createChatEncoder({ name: "openrouter", thinkTags: false, reasoningDetails: true });
    return (messages: readonly Message[], model: string) => encoder.messages({ ...REQUEST, model, messages }, true);
  },
  gemini: () => {
    const encoder = createGeminiEncoder();
    return (messages: readonly Message[], model: string) => encoder.body({ ...REQUEST, model, messages }, 65_536);
  },
};

const say = (role: Message["role"], ...content: Block[]): Message => ({ role, content });
const text = (words: string): Block => ({ type: "text", text: words });
const use = (id: string): Block => ({ type: "tool_use", id, name: "Read", input: { path: id } });
const result = (id: string, content: string): Block => ({ type: "tool_result", tool_use_id: id, content });

// spec: T-2 R-8
test.each(Object.keys(ENCODERS) as (keyof typeof ENCODERS)[])(
  "%s encodes a history that grew, shrank or forked as if it were new",
  (name) => {
    const a = say("user", text("go"));
    const b = say("assistant", text("reading"), use("x"), use("y"));
    const c = say("user", result("x", "one"));
    const later = say("user", result("y", "two"), text("and?"));
    const rest = [say("assistant", text("it is so")), say("user", text("thanks")), say("assistant", text("bye"))];
    const histories: Message[][] = [
      [a],
      [a, b],
      [a, b, c],
      [a, b, c, later],
      [a, b, c, later, ...rest],
      [a, b, later],
      [a, ...rest],
      [a, b, c, later, ...rest, a, b, c],
      [b, c, later, ...rest],
      [],
      [a, b, c, later, ...rest],
    ];
    const kept = ENCODERS[name]();
    for (const model of ["gemini-2.5-pro", "gemini-3-pro", "gemini-2.5-pro"])
      for (const history of histories) {
        const json = kept(history, model);
        expect(json).toBe(ENCODERS[name]()(history, model));
        expect(() => JSON.parse(json)).not.toThrow();
      }
  },
);
