import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ok } from "../../../src/contract/result.ts";
import { streamFeed } from "../../../src/http/sse-gateway.ts";
import { streamRun } from "../../../src/http/sse-run.ts";
import { FakeSocket } from "./support/fake-socket.ts";
import { DONE } from "./support/fakes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const EVERY = 20_000;
const DELTA = 'id: 11\nevent: text_delta\ndata: {"text":"a"}\n\n';
const END = "id: 12\nevent: done\ndata: {}\n\n";
const REVOKED = 'event: error\ndata: {"error":"invalid bearer token","category":"permission","retryable":false}\n\n';

/** A token whose look-ups give these, one after the other; the last one for good. */
function token(...answers: (boolean | Error)[]) {
  const isValid = vi.fn(async () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return answer ?? true;
  });
  return { isValid, everyMs: EVERY };
}

async function open(watch: ReturnType<typeof token>, runId: string | undefined) {
  const sockets: FakeSocket[] = [];
  const connect = async () => {
    const socket = new FakeSocket();
    sockets.push(socket);
    return ok(socket.asSocket());
  };
  const options = { signal: new AbortController().signal, keepaliveMs: 3_600_000, token: watch, backoffMs: [50] };
  const text = new Response(streamFeed({ cursor: 10, runId, connect }, options)).text();
  await vi.advanceTimersByTimeAsync(0);
  const [socket] = sockets;
  if (!socket) throw new Error("not connected");
  return { text, socket, sockets };
}

// spec: G-5 E-12
describe("a session's stream", () => {
  test("ends with one error when its token stops working, and leaves the session alone", async () => {
    const watch = token(true, false);
    const { text, socket, sockets } = await open(watch, "run_1");
    socket.say(DELTA);
    await vi.advanceTimersByTimeAsync(2 * EVERY - 1);
    expect(socket.closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(socket.closed).toEqual([{ code: 1000, reason: "client gone" }]);
    socket.say(END);
    expect(await text).toBe(DELTA + REVOKED);
    await vi.advanceTimersByTimeAsync(10 * EVERY);
    expect([watch.isValid.mock.calls.length, sockets.length, vi.getTimerCount()]).toEqual([2, 1, 0]);
  });

  test("ends so between two runs too", async () => {
    const { text, socket } = await open(token(false), undefined);
    socket.say(DELTA + END);
    await vi.advanceTimersByTimeAsync(EVERY);
    expect(await text).toBe(DELTA + END + REVOKED);
  });

  test("gets no second end when its one run has ended", async () => {
    const { text, socket } = await open(token(false), "run_1");
    socket.say(DELTA + END);
    await vi.advanceTimersByTimeAsync(EVERY);
    expect(await text).toBe(DELTA + END);
  });

  test("survives a look-up that fails once, not one that fails again", async () => {
    const broken = new Error("D1 is away");
    const watch = token(broken, true, broken, broken);
    const { text, socket } = await open(watch, undefined);
    await vi.advanceTimersByTimeAsync(EVERY + EVERY / 4 + EVERY);
    expect(watch.isValid).toHaveBeenCalledTimes(3);
    expect(socket.closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(EVERY / 4);
    expect(await text).toMatch(/^event: error\ndata: .*could not be checked.*"interrupted","retryable":true}\n\n$/);
  });

  test("asks no more once it has ended", async () => {
    const watch = token(true);
    const { text, socket } = await open(watch, "run_1");
    socket.say(END);
    socket.end(4000);
    expect(await text).toBe(END);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a stateless run", () => {
  function run(watch: ReturnType<typeof token>, texts: readonly string[]) {
    const controller = new AbortController();
    const onBug = vi.fn();
    const source = (async function* () {
      yield* texts;
      await new Promise((_, reject) => controller.signal.addEventListener("abort", () => reject(new Error("stopped"))));
    })();
    const readable = streamRun(source, { controller, keepaliveMs: 3_600_000, token: watch, onBug });
    return { text: new Response(readable).text(), controller, onBug };
  }

  // spec: G-5 E-12 H-2
  test("is cancelled when its token stops working, and says why", async () => {
    const { text, controller, onBug } = run(token(false), [DELTA]);
    await vi.advanceTimersByTimeAsync(EVERY - 1);
    expect(controller.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(controller.signal.aborted).toBe(true);
    expect(await text).toBe(DELTA + REVOKED);
    expect(onBug).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("gets no second end when it has ended", async () => {
    const { text } = run(token(false), [DELTA, DONE]);
    await vi.advanceTimersByTimeAsync(EVERY);
    expect(await text).toBe(DELTA + DONE);
  });
});
