import { describe, expect, test } from "vitest";
import type { ModelEvent } from "../../../src/contract/model.ts";
import { answer, collect, HandClock, providerWith, REQUEST, settle, sse, stalled } from "./support/harness.ts";

const NAMES = ["anthropic", "openai", "openrouter", "minimax", "gemini", "ollama", "lmstudio"] as const;
const failure = (events: readonly ModelEvent[]) => {
  const last = events.at(-1);
  return last?.type === "failed" ? last.failure : undefined;
};

// spec: R-1 R-4 T-5
describe.each(NAMES)("%s", (name) => {
  test("streams text, closes the block and finishes once", async () => {
    const { provider } = providerWith(name, [sse(...answer(name, "Hi there").whole)]);
    const events = await collect(provider);
    expect(events.map((e) => e.type)).toEqual(["text_delta", "block", "finished"]);
    expect(events.at(-1)).toMatchObject({ stop: "end_turn" });
  });

  test("reports an empty body as an incomplete stream", async () => {
    const { provider } = providerWith(name, [new Response("", { headers: { "content-type": "text/event-stream" } })]);
    expect(failure(await collect(provider))).toMatchObject({ category: "stream_incomplete", retryable: true });
  });

  test("reports a frame that is no JSON", async () => {
    const { provider } = providerWith(name, [sse(...answer(name, "Hi").part, "{broken")]);
    const events = await collect(provider);
    expect(events[0]).toEqual({ type: "text_delta", text: "Hi" });
    expect(failure(events)).toMatchObject({ category: "malformed_response" });
  });

  test("takes a web page under status 200 for a proxy and does not show it", async () => {
    const page = new Response("<html><title>Sign in</title><body>x</body></html>", {
      headers: { "content-type": "text/html" },
    });
    const fault = failure(await collect(providerWith(name, [page]).provider));
    expect(fault).toMatchObject({ category: "proxy" });
    expect(fault?.message).not.toContain("<");
    expect(fault?.hint).toBeTruthy();
  });

  test("reads an error body under status 200", async () => {
    const body = Response.json({ error: { message: "slow down", code: 429 } });
    expect(failure(await collect(providerWith(name, [body]).provider))).toMatchObject({
      category: "rate_limit",
      retryable: true,
    });
  });

  test("throws the signal's reason on abort and stops reading", async () => {
    const { provider } = providerWith(name, [stalled(...answer(name, "Hi").part)]);
    const stop = new AbortController();
    const reason = new Error("cancelled");
    const seen: ModelEvent[] = [];
    const run = (async () => {
      for await (const batch of provider.stream(REQUEST, stop.signal)) {
        seen.push(...batch);
        stop.abort(reason);
      }
    })();
    await expect(run).rejects.toBe(reason);
    expect(seen[0]).toEqual({ type: "text_delta", text: "Hi" });
  });

  test("retries before the first event and honours Retry-After", async () => {
    const clock = new HandClock();
    const limited = new Response('{"error":{"message":"later"}}', { status: 429, headers: { "retry-after": "2" } });
    const { provider, sent } = providerWith(name, [limited, sse(...answer(name, "Hi").whole)], {
      clock,
      retry: { tries: 2, random: () => 0 },
    });
    const run = collect(provider);
    await settle();
    expect(sent).toHaveLength(1);
    clock.advance(1_999);
    await settle();
    expect(sent).toHaveLength(1);
    clock.advance(1);
    expect((await run).at(-1)).toMatchObject({ type: "finished" });
    expect(sent).toHaveLength(2);
  });

  test("does not retry once something was shown", async () => {
    const { provider, sent } = providerWith(name, [sse(...answer(name, "Hi").part)], { retry: { tries: 3 } });
    expect(failure(await collect(provider))).toMatchObject({ category: "stream_incomplete" });
    expect(sent).toHaveLength(1);
  });

  test("ends a silent stream by the idle limit, a late first event by its own", async () => {
    for (const [frames, wait] of [
      [answer(name, "Hi").part, 50],
      [[], 200],
    ] as const) {
      const clock = new HandClock();
      const { provider } = providerWith(name, [stalled(...frames)], {
        clock,
        limits: { idleMs: 50, firstEventMs: 200 },
      });
      const run = collect(provider);
      await settle();
      clock.advance(wait - 1);
      await settle();
      clock.advance(1);
      expect(failure(await run)).toMatchObject({ category: "timeout", retryable: true });
    }
  });

  test("counts an answer as whole when the connection stalls after its stop reason", async () => {
    const clock = new HandClock();
    const frames = answer(name, "Hi").whole.filter(
      (f) => f !== "[DONE]" && (f as { type?: string }).type !== "message_stop",
    );
    const { provider } = providerWith(name, [stalled(...frames)], { clock });
    const run = collect(provider);
    await settle();
    clock.advance(3_000);
    expect((await run).at(-1)).toMatchObject({ type: "finished", stop: "end_turn" });
  });

  test("caps the size of an answer", async () => {
    const { provider } = providerWith(name, [sse(...answer(name, "x".repeat(2_000)).whole)], {
      limits: { maxBytes: 1_000 },
    });
    expect(failure(await collect(provider))).toMatchObject({ category: "malformed_response", retryable: false });
  });

  test("lowers max_tokens once when the provider says how much fits", async () => {
    const text = "input length and `max_tokens` exceed context limit: 500 + 1000 > 1200";
    const overflow = () => Response.json({ error: { message: text } }, { status: 400 });
    const { provider, sent } = providerWith(name, [overflow, overflow]);
    expect(failure(await collect(provider))).toMatchObject({
      category: "max_tokens_overflow",
      maxTokensAvailable: 700,
    });
    expect(sent).toHaveLength(2);
    expect(JSON.stringify(sent[1]?.body)).toContain("684");
  });

  test("never shows the key", async () => {
    const echo = Response.json({ error: { message: "Incorrect API key provided: test-key-123456" } }, { status: 401 });
    const fault = failure(await collect(providerWith(name, [echo]).provider));
    expect(fault).toMatchObject({ category: "auth", retryable: false });
    expect(JSON.stringify(fault)).not.toContain("test-key-123456");
  });

  test("pairs calls and results, whatever the history looks like", async () => {
    const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)]);
    await collect(provider, {
      ...REQUEST,
      messages: [
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "t", input: { x: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "orphan", content: "lost words" },
            { type: "text", text: "go on" },
          ],
        },
        { role: "user", content: [{ type: "text", text: "  " }] },
      ],
    });
    const body = JSON.stringify(sent[0]?.body);
    expect(body).not.toContain("lost words");
    expect(body).toContain("interrupted");
    expect(body).toContain("go on");
  });

  test("sends a tool's awkward name in a form the wire takes and gives back the real one", async () => {
    const odd = "mcp/files read";
    const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)]);
    await collect(provider, {
      ...REQUEST,
      tools: [{ name: odd, description: "d", inputSchema: { type: "object", properties: { a: { type: "string" } } } }],
    });
    const text = JSON.stringify(sent[0]?.body.tools);
    expect(text).not.toContain(odd);
    expect(text).toMatch(/mcp_files_read_[0-9a-f]{8}/);
  });
});
