import { existsSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ExecEvent } from "../../../src/contract/sandbox.ts";
import { createE2bSandbox, type E2bOptions } from "../../../src/sandbox/e2b/index.ts";
import { createStderrFilter } from "../../../src/shared/shell-wrap.ts";
import { delay } from "./support/clock.ts";
import { type FakeEnvd, startFakeEnvd } from "./support/fake-envd.ts";
import { bytes, codeOf, read, run } from "./support/shell.ts";

let envd: FakeEnvd;
let made = 0;
beforeAll(async () => {
  envd = await startFakeEnvd();
});
afterAll(() => envd.close());
afterEach(() => envd.silence(undefined));

function open(more: Partial<E2bOptions> = {}) {
  const remembered: string[] = [];
  const root = `${envd.home}/w${++made}`;
  const sandbox = createE2bSandbox({
    ...{ apiUrl: envd.url, apiKey: envd.apiKey, template: "base", domain: "unused.test", sandboxUrl: envd.url, root },
    ...{ fetch, delay, now: Date.now, graceMs: 5_000, remember: (id: string) => void remembered.push(id) },
    ...more,
  });
  return { sandbox, remembered, root };
}

/** A clock the test moves: each wait ends when its length is called. */
function handClock() {
  const waits: { ms: number; end(): void }[] = [];
  const called: { ms: number; seen(): void }[] = [];
  return {
    delay: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(), { once: true });
        waits.push({ ms, end: resolve });
        for (const each of called.splice(0))
          if (each.ms === ms) each.seen();
          else called.push(each);
      }),
    pass(ms: number) {
      for (const each of waits.filter((wait) => wait.ms === ms)) each.end();
    },
    /** Resolves once somebody waits so long. */
    waited: (ms: number) =>
      waits.some((each) => each.ms === ms) ? Promise.resolve() : new Promise<void>((seen) => called.push({ ms, seen })),
  };
}

async function gather(events: AsyncIterable<ExecEvent>) {
  let stderr = "";
  for await (const event of events) {
    if (event.type === "exit") return { ...event, stderr };
    if (event.type === "stderr") stderr += new TextDecoder().decode(event.data);
  }
  throw new Error("no exit event");
}

const never = new AbortController().signal;

describe("the machine of an e2b workspace", () => {
  test("is made once, on first use, and remembered before it is used", async () => {
    const before = envd.machines.size;
    const { sandbox, remembered } = open({ lifeSeconds: 60 });
    expect(envd.machines.size).toBe(before);
    await Promise.all([run(sandbox, "true"), sandbox.files.list(sandbox.root), run(sandbox, "true")]);
    expect(remembered).toHaveLength(1);
    expect(envd.machines.size).toBe(before + 1);
    // Lives as long as the command may take, and its own life after that.
    expect(envd.machines.get(remembered[0] ?? "")?.endsInSeconds).toBeGreaterThan(60);
  });

  test("is found again by its id, and woken when it sleeps", async () => {
    const first = open();
    await first.sandbox.files.writeFile(`${first.root}/f`, bytes("kept"));
    const id = first.remembered[0] ?? "";
    const machine = envd.machines.get(id);
    if (machine) machine.state = "paused";
    const again = open({ sandboxId: id, root: first.root });
    expect(await read(again.sandbox, `${first.root}/f`)).toBe("kept");
    expect(again.remembered).toEqual([]);
    expect(machine?.state).toBe("running");
  });

  test("is woken when it went to sleep between two calls", async () => {
    const { sandbox, remembered, root } = open();
    await sandbox.files.writeFile(`${root}/f`, bytes("kept"));
    const machine = envd.machines.get(remembered[0] ?? "");
    if (machine) machine.state = "paused";
    expect(await read(sandbox, `${root}/f`)).toBe("kept");
  });

  test("is made anew when the remembered one is gone", async () => {
    const { sandbox, remembered } = open({ sandboxId: "sbx_gone" });
    expect((await run(sandbox, "echo hi")).stdout).toBe("hi\n");
    expect(remembered).toHaveLength(1);
  });

  test("ends with destroy", async () => {
    const { sandbox, remembered } = open();
    expect(await sandbox.destroy(never)).toBe(true);
    await run(sandbox, "true");
    expect(await sandbox.destroy(never)).toBe(true);
    expect(envd.machines.has(remembered[0] ?? "")).toBe(false);
  });

  test("says 127 and why when the key is wrong or nobody answers, and works once somebody does", async () => {
    const wrong = await run(open({ apiKey: "wrong" }).sandbox, "true");
    expect(wrong).toMatchObject({ exitCode: 127, timedOut: false });
    expect(wrong.stderr).toContain("Invalid API key");
    let up = false;
    const flaky: E2bOptions["fetch"] = (url, init) => (up ? fetch(url, init) : Promise.reject(new Error("no route")));
    const { sandbox, root } = open({ fetch: flaky });
    expect(await run(sandbox, "true")).toMatchObject({
      ...{ exitCode: 127, stderr: "bash: the e2b sandbox could not be used: no route\n" },
    });
    expect(await codeOf(sandbox.files.readFile(`${root}/f`))).toBe("unavailable");
    up = true;
    expect((await run(sandbox, "true")).exitCode).toBe(0);
  });
});

describe("a command in an e2b workspace", () => {
  test("settles after its deadline and the grace when the machine never answers", async () => {
    const clock = handClock();
    const started = Promise.withResolvers<void>();
    const noticing: E2bOptions["fetch"] = (url, init) => {
      if (url.endsWith("/Start")) started.resolve();
      return fetch(url, init);
    };
    const { sandbox } = open({ delay: clock.delay, graceMs: 777, fetch: noticing });
    envd.silence("process.");
    const request = { command: "true", cwd: sandbox.root, env: {}, timeoutMs: 1_234 };
    const settled = gather(sandbox.exec(request, never));
    await started.promise;
    clock.pass(1_234);
    await clock.waited(777);
    clock.pass(777);
    expect(await settled).toMatchObject({ exitCode: 124, timedOut: true });
  });

  test("settles at its deadline when no machine is made", async () => {
    const clock = handClock();
    const { sandbox } = open({ delay: clock.delay });
    envd.silence("POST /sandboxes");
    const request = { command: "true", cwd: sandbox.root, env: {}, timeoutMs: 1_234 };
    const settled = gather(sandbox.exec(request, never));
    await clock.waited(1_234);
    clock.pass(1_234);
    expect(await settled).toMatchObject({ exitCode: 124, timedOut: true });
  });

  test("ends with all it started when its deadline comes, and when it is cancelled", async () => {
    // The deadline is the test's to call: how long a shell takes to say its first word depends on the machine.
    const DEADLINE_MS = 12_345;
    const deadline = Promise.withResolvers<void>();
    const called = (ms: number, signal: AbortSignal) => (ms === DEADLINE_MS ? deadline.promise : delay(ms, signal));
    const { sandbox, root } = open({ delay: called });
    // The inner loop is a process of its own that the shell waits for; it would write for ever.
    const command = "(while :; do echo x > beat; sleep 0.02; done) & echo ready; wait";
    const late = sandbox.exec({ command, cwd: root, env: {}, timeoutMs: DEADLINE_MS }, never)[Symbol.asyncIterator]();
    expect((await late.next()).value).toMatchObject({ type: "stdout", data: bytes("ready\n") });
    deadline.resolve();
    expect((await late.next()).value).toMatchObject({ type: "stderr" });
    expect((await late.next()).value).toMatchObject({ type: "exit", exitCode: 124, timedOut: true });
    await stillsAt(`${root}/beat`, () => run(sandbox, "rm -f beat; sleep 0.1"));

    const abort = new AbortController();
    const events = sandbox
      .exec({ command, cwd: root, env: {}, timeoutMs: 20_000 }, abort.signal)
      [Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ type: "stdout" });
    abort.abort(new Error("stop"));
    await expect(events.next()).rejects.toThrow("stop");
    await stillsAt(`${root}/beat`, () => run(sandbox, "rm -f beat; sleep 0.1"));
  });

  test("ends though a job in the background holds its output open", async () => {
    const { sandbox } = open();
    const ran = await run(sandbox, "sleep 20 & cd /; echo done");
    expect(ran).toMatchObject({ stdout: "done\n", exitCode: 0, cwd: "/", timedOut: false });
  });

  test("tells where it ended, whichever way it ends", async () => {
    const { sandbox, root } = open();
    for (const end of ["exit 3", "(exit 3)", "trap 'true' EXIT; (exit 3)"]) {
      expect(await run(sandbox, `mkdir -p d; cd d; ${end}`)).toMatchObject({
        exitCode: 3,
        cwd: `${root}/d`,
        stderr: "",
      });
    }
    expect(await run(sandbox, "kill -KILL $$")).toMatchObject({ exitCode: 137, cwd: root });
  });
});

describe("the closing line of a command's errors", () => {
  const LINE = "\u001en0nce:7:/a b\u001e";
  test("is taken out wherever it is broken, and nothing else is", () => {
    const whole = `one\u001e two ${LINE}late`;
    for (let cut = 0; cut <= whole.length; cut++) {
      const filter = createStderrFilter("n0nce");
      const parts = [whole.slice(0, cut), whole.slice(cut)].map((part) => filter.push(bytes(part)));
      expect(Buffer.concat([...parts, filter.rest()]).toString()).toBe("one\u001e two late");
      expect(filter.ended).toEqual({ exitCode: 7, cwd: "/a b" });
    }
  });

  test("is given to the reader when it is somebody else's, or never ends", () => {
    const filter = createStderrFilter("n0nce");
    const text = `\u001eother:1:/\u001e \u001en0nce:${"x".repeat(10_000)}`;
    expect(Buffer.concat([filter.push(bytes(text)), filter.rest()]).toString()).toBe(text);
    expect(filter.ended).toBeUndefined();
  });
});

/** Asks until a file that something keeps making is not made any more; the test's own limit ends a wait in vain. */
async function stillsAt(path: string, remove: () => Promise<unknown>): Promise<void> {
  do await remove();
  while (existsSync(path));
}
