import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Sandbox } from "../../../src/contract/sandbox.ts";
import { NO_BUBBLEWRAP, type ServerProcess, sandboxOf, startSandboxServer } from "./support/sandbox-server.ts";
import { bytes, codeOf, run } from "./support/shell.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What a guest may try; the machine and its other guests must not notice. spec: X-3 */
describe.skipIf(NO_BUBBLEWRAP)("a guest of the sandbox server", () => {
  let server: ServerProcess;
  let guest: Sandbox;
  let neighbour: Sandbox;
  beforeAll(async () => {
    server = await startSandboxServer({ SANDBOX_MAX_PROCESSES: "64" });
    guest = sandboxOf(server.url);
    neighbour = sandboxOf(server.url, { sandboxId: "neighbour" });
    expect(await codeOf(neighbour.files.writeFile("/workspace/private.txt", bytes("do not show")))).toBe("ok");
  });
  afterAll(() => server?.close());

  /** The server still serves, and the other workspace is as it was. */
  async function expectServing(): Promise<void> {
    expect(await run(neighbour, "cat private.txt && echo fine")).toMatchObject({
      stdout: "do not showfine\n",
      exitCode: 0,
    });
  }

  test("finds nothing of another session", async () => {
    const folders = "proc sys usr dev".split(" ").map((name) => `--exclude-dir=${name}`);
    const found = await run(guest, `ls ${server.dir} 2>&1; grep -rl 'do not show' / ${folders.join(" ")} 2>/dev/null`);
    expect(found.stdout).not.toContain("private.txt");
    expect(found.stdout).not.toContain("neighbour");
    for (const path of ["/workspace/../neighbour/private.txt", `${server.dir}/neighbour/private.txt`]) {
      expect(await codeOf(guest.files.readFile(path)), path).not.toBe("ok");
    }
    await expectServing();
  });

  test("reads no secret of the machine", async () => {
    const ran = await run(guest, "cat /etc/shadow /root/.bashrc; env; cat /proc/1/environ");
    expect(ran.stdout).not.toContain("root:");
    expect(ran.stdout).not.toContain("a token for tests only");
    expect(await codeOf(guest.files.readFile("/etc/shadow"))).not.toBe("ok");
  });

  test("sees its own processes only, and can signal no other", async () => {
    const ran = await run(guest, `ls -d /proc/[0-9]* | wc -l; kill -9 ${process.pid} 2>&1; kill -9 -1; true`);
    expect(Number(ran.stdout.split("\n")[0])).toBeLessThan(20);
    expect(process.pid).toBeGreaterThan(0);
    await expectServing();
  });

  test("reaches no network, the machine's loopback included", async () => {
    let reached = 0;
    const listener = createServer((_, response) => {
      reached++;
      response.end("hello");
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo;
    const ran = await run(guest, `exec 3<>/dev/tcp/127.0.0.1/${port} && echo open; echo $?`, { timeoutMs: 5_000 });
    await new Promise((resolve) => listener.close(resolve));
    expect(ran.stdout).not.toContain("open");
    expect(reached).toBe(0);
  });

  test("a fork bomb ends with its command, and others are served meanwhile", async () => {
    const bomb = run(guest, "b() { b | b & }; b; sleep 30", { timeoutMs: 2_000 });
    await expectServing();
    expect((await bomb).exitCode).not.toBe(0);
    await expectServing();
  });

  test("a file of 10 GB is not to be had", async () => {
    const small = sandboxOf(server.url, { maxBytes: 20 * 1024 * 1024 });
    const ran = await run(small, "dd if=/dev/zero of=big bs=1M count=10240 2>&1; stat -c %s big 2>/dev/null || echo 0");
    const size = Number(ran.stdout.trim().split("\n").at(-1));
    expect(size).toBeLessThan(200 * 1024 * 1024);
    await expectServing();
  });

  test("a link out of the workspace is followed by no file call", async () => {
    await run(guest, `ln -s /etc/passwd leak; ln -s /etc etc; ln -s ${server.dir} dir; ln -s /root/new hole`);
    expect(await codeOf(guest.files.readFile("/workspace/leak"))).not.toBe("ok");
    expect(await codeOf(guest.files.readFile("/workspace/etc/passwd"))).not.toBe("ok");
    expect(await codeOf(guest.files.list("/workspace/etc"))).not.toBe("ok");
    expect(await codeOf(guest.files.list("/workspace/dir"))).not.toBe("ok");
    expect(await codeOf(guest.files.writeFile("/workspace/etc/new", bytes("x")))).not.toBe("ok");
    expect(await codeOf(guest.files.writeFile("/workspace/hole", bytes("x")))).not.toBe("ok");
    await expectServing();
  });
});

test.skipIf(NO_BUBBLEWRAP)(
  "a server that is killed in the middle of a command is an error of that command alone",
  async () => {
    // spec: X-1 — user report S18
    const server = await startSandboxServer();
    const sandbox = sandboxOf(server.url, { graceMs: 1_000 });
    await run(sandbox, "echo kept > kept.txt");
    const running = run(sandbox, "echo begun; sleep 60", { timeoutMs: 1_000 });
    await server.kill();
    const ended = await running;
    expect(ended.exitCode).not.toBe(0);
    expect(ended.stderr).not.toBe("");
    const again = await startSandboxServer({}, server);
    expect(await run(sandbox, "cat kept.txt")).toMatchObject({ stdout: "kept\n", exitCode: 0 });
    await again.close();
  },
);
