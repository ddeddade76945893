import { createParser } from "eventsource-parser";
import type { ModelEvent } from "../src/contract/model.ts";
import { createChatDecoder } from "../src/providers/chat-completions/decode.ts";
import { createGeminiDecoder } from "../src/providers/gemini/decode.ts";
import { createMessagesDecoder } from "../src/providers/messages-wire/decode.ts";
import { createClassifier } from "../src/providers/transport/classify.ts";
import { randomCallId } from "../src/providers/transport/settings.ts";
import type { StreamDecoder } from "../src/providers/transport/wire.ts";
import { toChunk } from "../src/providers/workers-ai/decode.ts";
import { createSseDecoder } from "../src/shared/sse.ts";
import { median } from "./statistics.ts";

/**
 * Events per second of each decoder, bytes to engine events, against eventsource-parser + JSON.parse alone on the same bytes,
 * measured in turn: `npm run bench:decode`. Goal: at least 0.6×. Pieces are 4 KiB, as a socket gives them.
 */
const [ROUNDS, FRAMES, PIECE] = [9, 20_000, 4_096];
const classifier = createClassifier({ provider: "bench", secrets: [], now: Date.now });
const options = { classifier, decodeName: (name: string) => name, newCallId: randomCallId };
const chat = (name: string): StreamDecoder =>
  createChatDecoder({ ...options, dialect: { name, thinkTags: name === "ollama", reasoningDetails: false } });
const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const word = (i: number): string => `word ${i} `;
const chunk = (i: number): unknown => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content: word(i) }, finish_reason: null }],
  usage: null,
});

const CASES: Readonly<Record<string, { readonly make: () => StreamDecoder; readonly frame: (i: number) => string }>> = {
  messages: {
    make: () => createMessagesDecoder({ ...options, vendor: "anthropic" }),
    frame: (i) =>
      frame(
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: word(i) } },
        "content_block_delta",
      ),
  },
  "chat completions": { make: () => chat("openai"), frame: (i) => frame(chunk(i)) },
  "chat completions, think tags": { make: () => chat("ollama"), frame: (i) => frame(chunk(i)) },
  gemini: {
    make: () => createGeminiDecoder(options),
    frame: (i) =>
      frame({
        candidates: [{ content: { role: "model", parts: [{ text: word(i) }] }, index: 0 }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: i, totalTokenCount: 10 + i },
        modelVersion: "gemini-2.5-pro",
      }),
  },
  "workers-ai, older models": {
    make: () =>
      createChatDecoder({
        ...options,
        dialect: { name: "workers-ai", thinkTags: true, reasoningDetails: false, toChunk },
      }),
    frame: (i) => frame({ response: word(i), p: "abcdefghijkl" }),
  },
};

function pieces(text: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, i) => bytes.subarray(i * PIECE, (i + 1) * PIECE));
}

function bare(body: readonly Uint8Array[]): number {
  const decoder = new TextDecoder();
  let count = 0;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (JSON.parse(data) !== null) count++;
    },
  });
  for (const piece of body) parser.feed(decoder.decode(piece, { stream: true }));
  return count;
}

function ours(body: readonly Uint8Array[], decoder: StreamDecoder): number {
  const sse = createSseDecoder();
  let count = 0;
  for (const piece of body) {
    const out: ModelEvent[] = [];
    for (const message of sse.push(piece)) {
      const verdict = decoder.push(message, out);
      if (typeof verdict === "object") throw new Error(verdict.message);
    }
    count += out.length;
  }
  return count;
}

function perSecond(run: () => number): number {
  const start = performance.now();
  const count = run();
  if (count !== FRAMES) throw new Error(`expected ${FRAMES} events, got ${count}`);
  return (count * 1000) / (performance.now() - start);
}

for (const [name, { make, frame }] of Object.entries(CASES)) {
  const body = pieces(Array.from({ length: FRAMES }, (_, i) => frame(i)).join(""));
  const rounds: { us: number; bare: number }[] = [];
  for (let round = 0; round < ROUNDS + 2; round++) {
    const rates = { us: perSecond(() => ours(body, make())), bare: perSecond(() => bare(body)) };
    if (round >= 2) rounds.push(rates); // the first ones warm up
  }
  const [us, alone] = [median(rounds.map((r) => r.us)), median(rounds.map((r) => r.bare))];
  const ratio = median(rounds.map((r) => r.us / r.bare));
  console.log(
    `${name}: ${ratio.toFixed(2)}× (${Math.round(us / 1000)}k against ${Math.round(alone / 1000)}k events/s)`,
  );
}
