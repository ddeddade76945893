import type { Message } from "../../../../src/contract/messages.ts";
import type { ModelEvent } from "../../../../src/contract/model.ts";
import { collect, HandClock, providerWith, REQUEST, sse } from "./harness.ts";

export const run = async (name: string, ...frames: readonly unknown[]) =>
  collect(providerWith(name, [sse(...frames)]).provider);
export const blocksOf = (events: readonly ModelEvent[]) => events.flatMap((e) => (e.type === "block" ? [e.block] : []));
export const raw = (text: string, headers: Record<string, string> = { "content-type": "text/event-stream" }) =>
  new Response(text, { headers });
/** A body that gives its text and then breaks off. */
export const breaking = (text: string) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      if (text !== "") controller.enqueue(new TextEncoder().encode(text));
    },
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
/** A stream whose frames come when the test says so, and how its answer came out. */
export function live(name: string) {
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
export const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
export const fragment = (...tool_calls: readonly object[]) => chunk({ tool_calls });

/** What goes out when the answer is put into the history and a next message follows. */
export async function replayed(name: string, events: readonly ModelEvent[]): Promise<Record<string, unknown>> {
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
