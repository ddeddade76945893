import { newSession, startProduct } from "./harness.ts";
import { median } from "./statistics.ts";
import { startUpstream } from "./upstream.ts";

/**
 * What a long history costs: messages 991–1,000 of one session against messages 1–10 of fresh ones, in turn in one run:
 * `npm run bench:history`. The model's own work is next to nothing here and the same for both, so it is not taken off.
 */
const LONG = 1_000;
const SHORT = 10;
const upstream = await startUpstream();
const { url, server } = await startProduct({ ANTHROPIC_BASE_URL: upstream.url, ANTHROPIC_API_KEY: "key-short" });

/** Sends a message and reads its stream to the end; milliseconds. */
async function message(id: string): Promise<number> {
  const start = performance.now();
  const response = await fetch(new URL(`/v1/sessions/${id}/messages`, url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "hi" }),
  });
  const text = await response.text();
  if (!response.ok || !text.includes("event: done")) throw new Error(`status ${response.status}: ${text.slice(-500)}`);
  return performance.now() - start;
}

async function grown(length: number): Promise<string> {
  const id = await newSession(url);
  for (let i = 0; i < length; i++) await message(id);
  return id;
}

try {
  // Half as many messages of the user: each brings one of the model.
  const long = await grown((LONG - 20) / 2);
  const late: number[] = [];
  const early: number[] = [];
  for (let i = 0; i < 10; i++) {
    const short = await grown(SHORT / 2 - 1);
    early.push(await message(short));
    late.push(await message(long));
  }
  const [a, b] = [median(early), median(late)];
  console.log(
    `message ${LONG} against message ${SHORT}: ${(b / a).toFixed(2)}× (${b.toFixed(1)} ms against ${a.toFixed(1)} ms, medians of 10)`,
  );
} finally {
  await server.close();
  upstream.close();
}
