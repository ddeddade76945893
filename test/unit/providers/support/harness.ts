import type { ModelEvent, ModelProvider, ModelRequest } from "../../../../src/contract/model.ts";
import { createProvider, type ProviderSettings } from "../../../../src/providers/index.ts";

export const REQUEST: ModelRequest = {
  model: "test-model",
  system: [],
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  tools: [],
  maxTokens: 1_000,
};

export type Sent = { readonly url: string; readonly headers: Headers; readonly body: Record<string, unknown> };

/** A provider by name whose n-th request gets the n-th reply; a reply may be an error to throw. */
export function providerWith(
  name: string,
  replies: readonly (Response | Error | (() => Response))[],
  settings: ProviderSettings = {},
): { provider: ModelProvider; sent: Sent[] } {
  const sent: Sent[] = [];
  const left = [...replies];
  const made = createProvider(name, {
    apiKey: "test-key-123456",
    retry: { tries: 1 },
    fetch: async (input, init) => {
      sent.push({ url: String(input), headers: new Headers(init?.headers), body: JSON.parse(String(init?.body)) });
      const reply = left.shift();
      if (reply === undefined) throw new Error("the script has no reply left");
      if (reply instanceof Error) throw reply;
      return typeof reply === "function" ? reply() : reply;
    },
    ...settings,
  });
  if (!made.ok) throw new Error(made.error.message);
  return { provider: made.value, sent };
}

export async function collect(
  provider: ModelProvider,
  request: ModelRequest = REQUEST,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const batch of provider.stream(request, signal)) events.push(...batch);
  return events;
}

export function sse(...frames: readonly unknown[]): Response {
  const text = frames.map((frame) => `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** Frames, then silence on an open connection. */
export function stalled(...frames: readonly unknown[]): Response {
  const bytes = new TextEncoder().encode(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(""));
  let given = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (given || bytes.byteLength === 0) return new Promise(() => {});
      given = true;
      controller.enqueue(bytes);
      return undefined;
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** The frames of a whole short answer, and its first half, in each wire. */
export function answer(name: string, text: string): { whole: readonly unknown[]; part: readonly unknown[] } {
  if (name === "gemini") {
    const part = { candidates: [{ content: { role: "model", parts: [{ text }] } }] };
    return { part: [part], whole: [part, { candidates: [{ finishReason: "STOP" }] }] };
  }
  if (name === "anthropic" || name === "minimax") {
    const part = [
      { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    ];
    const end = [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ];
    return { part, whole: [...part, ...end] };
  }
  const part = { choices: [{ index: 0, delta: { content: text }, finish_reason: null }] };
  return { part: [part], whole: [part, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }, "[DONE]"] };
}

/** A clock moved by hand: `advance` fires what is due. */
export class HandClock {
  #now = 1_000_000;
  #timers = new Map<number, { at: number; fn: () => void }>();
  #next = 1;
  readonly waits: number[] = [];
  now = (): number => this.#now;
  timer = (ms: number, fn: () => void): (() => void) => {
    const id = this.#next++;
    this.waits.push(ms);
    this.#timers.set(id, { at: this.#now + ms, fn });
    return () => void this.#timers.delete(id);
  };
  advance(ms: number): void {
    this.#now += ms;
    for (const [id, timer] of [...this.#timers]) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(id);
      timer.fn();
    }
  }
}

/** Lets everything that is ready run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}
