import { expect, test } from "vitest";
import { streamRun } from "../../../src/http/sse-run.ts";
import { DONE } from "./support/fakes.ts";

const delta = 'event: text_delta\ndata: {"text":"a"}\n\n';

async function collect(source: AsyncIterable<string>) {
  const bugs: unknown[] = [];
  const controller = new AbortController();
  const readable = streamRun(source, { controller, keepaliveMs: 60_000, onBug: (error) => bugs.push(error) });
  return { text: await new Response(readable).text(), bugs };
}

// spec: H-2, E-12
test("writes a run's text and closes after its end", async () => {
  const { text, bugs } = await collect(
    (async function* () {
      yield delta;
      yield delta + DONE;
    })(),
  );
  expect(text).toBe(delta + delta + DONE);
  expect(bugs).toEqual([]);
});

test.each(["throws", "forgets its end"])("ends with one error frame when the run %s", async (way) => {
  const { text, bugs } = await collect(
    (async function* () {
      yield delta;
      if (way === "throws") throw new Error("secret detail");
    })(),
  );
  expect(text).toMatch(/^event: text_delta\n.*\n\nevent: error\ndata: .*"category":"internal".*\n\n$/);
  expect(text).not.toContain("secret");
  expect(bugs).toHaveLength(way === "throws" ? 1 : 0);
});

// spec: E-30
test("aborts the run when its client leaves", async () => {
  const controller = new AbortController();
  let returned = false;
  const source = (async function* () {
    try {
      yield delta;
      await new Promise((resolve) => controller.signal.addEventListener("abort", resolve));
      yield delta;
    } finally {
      returned = true;
    }
  })();
  const readable = streamRun(source, { controller, keepaliveMs: 60_000, onBug: () => {} });
  const reader = readable.getReader();
  await reader.read();
  await reader.cancel();
  await new Promise((resolve) => setTimeout(resolve));
  expect(controller.signal.aborted).toBe(true);
  expect(returned).toBe(true);
});

test("slows a run down to the pace of its client", async () => {
  let made = 0;
  const block = `event: text\ndata: ${JSON.stringify({ text: "x".repeat(100_000) })}\n\n`;
  const source = (async function* () {
    for (; made < 100; made++) yield block;
    yield DONE;
  })();
  const controller = new AbortController();
  const reader = streamRun(source, { controller, keepaliveMs: 60_000, onBug: () => {} }).getReader();
  await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(made).toBeLessThan(10);
  await reader.cancel();
});
