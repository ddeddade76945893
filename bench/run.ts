import { createTestHarness } from "wrangler";
import { newSession, startProduct } from "./harness.ts";
import { median } from "./statistics.ts";
import { startUpstream } from "./upstream.ts";

/**
 * Speed as ratios to a bare pass-through (Worker and object that hand the upstream's bytes on), both measured in turn in
 * this run: `npm run bench`. Milliseconds are this machine's, ratios carry over. Quote medians; single rounds differ by 20 %.
 */
const ROUNDS = 5;
const upstream = await startUpstream();
const product = await startProduct({
  ANTHROPIC_BASE_URL: upstream.url,
  ANTHROPIC_API_KEY: "key-short",
  ENCRYPTION_KEY: "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
});
const bare = createTestHarness({
  workers: [{ configPath: "bench/pass-through/wrangler.toml", vars: { UPSTREAM: upstream.url } }],
});
const bareUrl = (await bare.listen()).url;

type Sample = { readonly first: number; readonly whole: number };
let serial = 0;

async function timed(request: () => Promise<Response>): Promise<Sample> {
  const start = performance.now();
  const response = await request();
  if (!response.ok || !response.body) throw new Error(`status ${response.status}: ${await response.text()}`);
  let first = 0;
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    if (first === 0) first = performance.now() - start;
    text += decoder.decode(chunk, { stream: true });
  }
  if (/^event: error/m.test(text)) throw new Error(text.slice(-500));
  return { first, whole: performance.now() - start };
}

function session(): Promise<string> {
  return newSession(product.url);
}

function message(id: string, key: string): () => Promise<Response> {
  return () =>
    fetch(new URL(`/v1/sessions/${id}/messages`, product.url), {
      method: "POST",
      headers: { "content-type": "application/json", "x-flyto-provider-key": `key-${key}` },
      body: JSON.stringify({ prompt: "hi" }),
    });
}

function passThrough(id: string, key: string, calls: number): () => Promise<Response> {
  return () =>
    fetch(new URL(`/${id}`, bareUrl), { method: "POST", body: JSON.stringify({ key: `key-${key}`, calls }) });
}

async function sideBySide(
  kind: string,
  calls: number,
  concurrency: number,
): Promise<{ first: number; whole: number; ms: string }> {
  const ratios: Sample[] = [];
  let last = "";
  for (let round = 0; round < ROUNDS + 1; round++) {
    const keys = Array.from({ length: concurrency }, () => `${kind}-${++serial}`);
    const ids = await Promise.all(keys.map(session));
    const ours = await Promise.all(ids.map((id, i) => timed(message(id, keys[i] ?? ""))));
    const theirs = await Promise.all(keys.map((key) => timed(passThrough(key, `${key}-bare`, calls))));
    if (round === 0) continue; // warms both up
    const a = { first: median(ours.map((s) => s.first)), whole: median(ours.map((s) => s.whole)) };
    const b = { first: median(theirs.map((s) => s.first)), whole: median(theirs.map((s) => s.whole)) };
    ratios.push({ first: a.first / b.first, whole: a.whole / b.whole });
    last = `${a.first.toFixed(1)}/${a.whole.toFixed(1)} ms against ${b.first.toFixed(1)}/${b.whole.toFixed(1)} ms`;
  }
  return { first: median(ratios.map((r) => r.first)), whole: median(ratios.map((r) => r.whole)), ms: last };
}

try {
  for (const concurrency of [1, 32]) {
    const burst = await sideBySide("burst", 1, concurrency);
    console.log(
      `C=${concurrency} 200 deltas: first event ${burst.first.toFixed(2)}×, whole answer ${burst.whole.toFixed(2)}× (${burst.ms})`,
    );
    const tools = await sideBySide("tools", 6, concurrency);
    console.log(`C=${concurrency} five tool turns: whole ${tools.whole.toFixed(2)}× (${tools.ms})`);
    const live = await sideBySide("live", 1, concurrency);
    console.log(`C=${concurrency} 200 deltas at a model's pace: pace ${(1 / live.whole).toFixed(2)}× (${live.ms})`);
    const lanes = await Promise.all(Array.from({ length: concurrency }, growth));
    console.log(`C=${concurrency} messages 191–200 against 1–10: whole ${median(lanes).toFixed(2)}×`);
  }
} finally {
  await Promise.all([product.server.close(), bare.close()]);
  upstream.close();
}

/** How much slower a session's late messages are than its first ones. */
async function growth(): Promise<number> {
  const id = await session();
  const times: number[] = [];
  for (let i = 0; i < 203; i++) times.push((await timed(message(id, "short"))).whole);
  return median(times.slice(-10)) / median(times.slice(3, 13));
}
