import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Answer, refuse } from "../../../src/contract/refusal.ts";
import { ok } from "../../../src/contract/result.ts";
import type { FrameSocket } from "../../../src/contract/sessions.ts";
import { lastFrame } from "../../../src/http/frames.ts";
import { type GatewayOptions, streamFeed } from "../../../src/http/sse-gateway.ts";
import { FakeSocket } from "./support/fake-socket.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const frame = (id: number, type = "text_delta", data = `{"text":"${id}"}`) =>
  `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;

/** A feed whose sockets the test plays; `asked` are the ids that connections were opened after. */
function play(options: Partial<GatewayOptions> = {}, ...refusals: (Answer<FrameSocket> | Error)[]) {
  const sockets: FakeSocket[] = [];
  const asked: number[] = [];
  const client = new AbortController();
  const readable = streamFeed(
    {
      cursor: 10,
      runId: "run_1",
      connect: async (after) => {
        asked.push(after);
        const refusal = refusals.shift();
        if (refusal instanceof Error) throw refusal;
        if (refusal) return refusal;
        const socket = new FakeSocket();
        sockets.push(socket);
        return ok(socket.asSocket());
      },
    },
    { signal: client.signal, keepaliveMs: 15_000, backoffMs: [50, 100, 200], ...options },
  );
  const reader = readable.getReader();
  const decoder = new TextDecoder();
  const read = async () => {
    const { done, value } = await reader.read();
    return done ? undefined : decoder.decode(value);
  };
  const readAll = async () => {
    let text = "";
    for (let part = await read(); part !== undefined; part = await read()) text += part;
    return text;
  };
  const socket = async (n: number) => await vi.waitFor(() => sockets[n] ?? Promise.reject(new Error("not connected")));
  return { sockets, asked, client, reader, read, readAll, socket };
}

// spec: E-30, E-12
test("passes frames on and ends when the session says that nothing more comes", async () => {
  const { socket, readAll, asked } = play();
  const first = await socket(0);
  expect(first.accepted).toBe(true);
  first.say(frame(11));
  first.say(frame(12, "done", "{}"));
  first.end(4000);
  expect(await readAll()).toBe(frame(11) + frame(12, "done", "{}"));
  expect(asked).toEqual([10]);
});

// spec: E-30
test("reconnects after the last id of a message with several frames", async () => {
  const { socket, readAll, asked } = play();
  (await socket(0)).say(frame(11) + frame(12) + frame(13));
  (await socket(0)).end(1006);
  const second = await socket(1);
  second.say(frame(14, "done", "{}"));
  second.end(4000);
  expect(await readAll()).toBe(frame(11) + frame(12) + frame(13) + frame(14, "done", "{}"));
  expect(asked).toEqual([10, 13]);
});

test("ignores what a given-up socket still says", async () => {
  const { socket, readAll } = play();
  const first = await socket(0);
  first.say(frame(11));
  first.end(1006);
  first.say(frame(12));
  const second = await socket(1);
  second.say(frame(12) + frame(13, "done", "{}"));
  second.end(4000);
  expect(await readAll()).toBe(frame(11) + frame(12) + frame(13, "done", "{}"));
});

// spec: E-12
test("gives up after bounded tries with one interrupted error", async () => {
  const { readAll, asked } = play({}, ...Array.from({ length: 9 }, () => new Error("broken")));
  const all = readAll();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await all).toBe(
    'event: error\ndata: {"error":"the connection to the session was lost","category":"interrupted","retryable":true}\n\n',
  );
  expect(asked).toEqual([10, 10, 10, 10]);
});

test("tries again after a failing connect and goes on where it was", async () => {
  const { socket, readAll, asked } = play({}, new Error("moved"), refuse("internal_error", "busy"));
  const all = readAll();
  await vi.advanceTimersByTimeAsync(150);
  const first = await socket(0);
  first.say(frame(11, "done", "{}"));
  first.end(4000);
  expect(await all).toBe(frame(11, "done", "{}"));
  expect(asked).toEqual([10, 10, 10]);
});

test.each([
  ["a close with 4004", (socket: FakeSocket) => socket.end(4004)],
  [
    "a close with 4000 but no result",
    (socket: FakeSocket) => {
      socket.end(4000);
    },
  ],
])("ends %s with one error frame", async (_name, end) => {
  const { socket, readAll, asked } = play();
  end(await socket(0));
  expect(await readAll()).toMatch(/^event: error\ndata: .*"category":"interrupted".*\n\n$/);
  expect(asked).toHaveLength(1);
});

test("stops at a session that is gone and at a refusal that stays", async () => {
  for (const refusal of [
    refuse("not_found_error", "session not found"),
    refuse("invalid_request_error", "bad cursor"),
  ]) {
    const { readAll, asked } = play({}, refusal);
    expect(await readAll()).toContain('"retryable":false');
    expect(asked).toHaveLength(1);
  }
});

test("adds no error after the run's own end", async () => {
  const { socket, readAll } = play();
  const first = await socket(0);
  first.say(frame(11, "error", "{}"));
  first.end(4004);
  expect(await readAll()).toBe(frame(11, "error", "{}"));
});

test("writes a keepalive after silence, and none while frames come", async () => {
  const { socket, read } = play();
  const first = await socket(0);
  await vi.advanceTimersByTimeAsync(10_000);
  first.say(frame(11));
  expect(await read()).toBe(frame(11));
  const next = read();
  let came: string | undefined;
  void next.then((text) => {
    came = text;
  });
  await vi.advanceTimersByTimeAsync(14_900);
  expect(came).toBeUndefined();
  await vi.advanceTimersByTimeAsync(200);
  expect(came).toBe(": keepalive\n\n");
});

test("closes the socket of a slow client and resumes from the last id once it has caught up", async () => {
  const { socket, read, asked, sockets } = play({ maxWaiting: 200 });
  const first = await socket(0);
  const big = frame(11, "text", `{"text":"${"x".repeat(150)}"}`);
  first.say(big);
  first.say(frame(12, "text", `{"text":"${"y".repeat(150)}"}`));
  expect(first.closed).toEqual([{ code: 1000, reason: "slow client" }]);
  first.say(frame(13));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sockets).toHaveLength(1);
  expect(await read()).toBe(big);
  expect(await read()).toContain("yyy");
  const second = await socket(1);
  expect(asked).toEqual([10, 12]);
  second.say(frame(13, "done", "{}"));
  second.end(4000);
  expect(await read()).toBe(frame(13, "done", "{}"));
  expect(await read()).toBeUndefined();
});

test.each(["the reader cancels", "the request is aborted"])("closes the socket with 1000 when %s", async (way) => {
  const { socket, client, reader, asked } = play();
  const first = await socket(0);
  if (way === "the reader cancels") await reader.cancel();
  else client.abort();
  await vi.waitFor(() => expect(first.closed).toEqual([{ code: 1000, reason: "client gone" }]));
  first.end(1006);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toEqual([10]);
  expect(vi.getTimerCount()).toBe(0);
});

test("reads the last frame of a message", () => {
  expect(lastFrame(frame(1))).toEqual({ id: 1, terminal: false });
  expect(lastFrame(frame(1) + frame(22, "done", "{}"))).toEqual({ id: 22, terminal: true });
  expect(lastFrame(frame(1, "text", JSON.stringify({ text: "a\n\nid: 7\nevent: done\n" })))?.id).toBe(1);
  expect(lastFrame(": keepalive\n\n")).toBeUndefined();
});
