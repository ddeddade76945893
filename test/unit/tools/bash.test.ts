import { beforeEach, describe, expect, it } from "vitest";
import { createBashTool } from "../../../src/tools/bash.ts";
import { createHeadTail } from "../../../src/tools/head-tail.ts";
import { errorOf, FakeWorld, textOf } from "./fake-sandbox.ts";

let time = 0;
const bash = createBashTool({ defaultTimeoutMs: 120_000, maxTimeoutMs: 600_000, now: () => time });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const out = (text: string) => ({ type: "stdout", data: bytes(text) }) as const;
const errs = (text: string) => ({ type: "stderr", data: bytes(text) }) as const;
const exit = (exitCode = 0, timedOut = false, cwd = "/workspace") =>
  ({ type: "exit", exitCode, timedOut, cwd }) as const;
let world: FakeWorld;
beforeEach(() => {
  world = new FakeWorld();
  time = 0;
});

describe("Bash", () => {
  // spec: K-1, X-1
  it("runs the command in the session's directory with its environment and time", async () => {
    world.env = { TOKEN: "abcdefgh" };
    world.script = [out("hi\n"), exit()];
    expect(textOf(await world.run(bash, { command: "echo hi", timeout: 5 }))).toBe("hi");
    const expected = { command: "echo hi", cwd: "/workspace", env: { TOKEN: "abcdefgh" }, timeoutMs: 5 };
    expect(world.requests).toEqual([expected]);
  });

  it("shows both streams and says when there is nothing", async () => {
    world.script = [errs("bad\n"), out("good\n"), exit()];
    expect(textOf(await world.run(bash, { command: "x" }))).toBe("good\n[stderr]\nbad");
    world.script = [exit()];
    expect(textOf(await world.run(bash, { command: "x" }))).toBe("(no output)");
  });

  it("states an exit code other than 0 and a time-out", async () => {
    world.script = [out("partial"), exit(2)];
    expect(errorOf(await world.run(bash, { command: "x" }))).toBe("error: the command ended with exit code 2\npartial");
    world.script = [out("partial"), exit(124, true)];
    expect(errorOf(await world.run(bash, { command: "x", timeout: 70 }))).toContain("timed out after 70 ms");
  });

  it("carries the working directory over, also from a command that failed", async () => {
    world.script = [exit(1, false, "/workspace/sub")];
    await world.run(bash, { command: "cd sub; false" });
    expect(world.facts.cwd).toBe("/workspace/sub");
    world.script = [exit(0, false, "/workspace/sub")];
    expect((await world.run(bash, { command: "true" })).facts).toEqual([]);
  });

  // spec: X-1
  it("takes 120 s by default and refuses more than 600 s", () => {
    expect(bash.timeoutMs?.({ command: "x" })).toBe(120_000);
    expect(bash.timeoutMs?.({ command: "x", timeout: 3_000 })).toBe(3_000);
    expect(bash.input.safeParse({ command: "x", timeout: 600_001 }).success).toBe(false);
    expect(bash.input.safeParse({ command: "x", timeout: 1.5 }).success).toBe(false);
  });

  it("reports progress at most twice a second", async () => {
    world.script = [...Array.from({ length: 100 }, (_, i) => out(`line ${i}\n`)), exit()];
    const steady = createBashTool({
      defaultTimeoutMs: 1_000,
      maxTimeoutMs: 1_000,
      now: () => {
        time += 10;
        return time;
      },
    });
    await world.run(steady, { command: "x" });
    expect(world.progress.length).toBe(2);
    expect(world.progress[1]?.detail).toBe("line 50");
  });
});

describe("the memory of a command's output", () => {
  it("keeps everything within the limit, characters over pieces whole", () => {
    const kept = createHeadTail(10);
    for (const byte of bytes("aé€bcd")) kept.push(new Uint8Array([byte]));
    expect(kept.text()).toBe("aé€bcd");
  });

  it("keeps the start and the end and counts what is left out", () => {
    for (const size of [1, 3, 7, 26]) {
      const kept = createHeadTail(8);
      const all = bytes("abcdefghijklmnopqrstuvwxyz");
      for (let at = 0; at < all.length; at += size) kept.push(all.subarray(at, at + size));
      expect(kept.text()).toBe("abcd\n... 18 bytes left out ...\nwxyz");
    }
  });
});
