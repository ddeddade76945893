import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ExecEvent, Sandbox } from "../../../src/contract/sandbox.ts";
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
    const theirs = `${server.dir}/sandboxes/neighbour/work/private.txt`;
    expect(existsSync(theirs), "where the server keeps it").toBe(true);
    const found = await run(
      guest,
      `[ -e ${server.dir} ] && echo there; cat ${theirs}; grep -rl 'do not show' / ${folders.join(" ")} 2>/dev/null`,
    );
    expect(found.stdout).toBe("");
    for (const path of [theirs, "/workspace/../../neighbour/work/private.txt"]) {
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
    // Its number alone is signalled: where isolation is broken, `kill -1` would end everything on the machine.
    const echo = spawn("bash", ["-c", 'while read -r line; do echo "$line"; done', "process-of-the-machine"]);
    try {
      const ran = await run(guest, `cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -9 ${echo.pid}; true`);
      const sees = (name: string) => ran.stdout.includes(name); // the list itself would put a machine's secrets in a log
      expect([sees("bash"), sees("process-of-the-machine")]).toEqual([true, false]);
      echo.stdin.write("alive\n");
      const [answer] = await Promise.race([once(echo.stdout, "data"), once(echo, "exit")]);
      expect(String(answer)).toBe("alive\n");
      await expectServing();
    } finally {
      echo.kill("SIGKILL");
    }
  });

  test("reaches no network, the machine's loopback included", async () => {
    let reached = 0;
    const listener = createServer((socket) => {
      reached++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo; // it listens on a port
    const each = `for port in ${port} ${server.port}; do (: <>/dev/tcp/127.0.0.1/$port) && echo open || echo shut; done`;
    const ran = await run(guest, each);
    await new Promise((resolve) => listener.close(resolve));
    expect(ran.stdout).toBe("shut\nshut\n");
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
    const filling = run(small, "dd if=/dev/zero of=big bs=1M count=10240");
    await expectServing();
    expect((await filling).exitCode).not.toBe(0);
    const sparse = await run(small, "rm -f big; truncate -s 10G holes");
    expect(sparse.exitCode).not.toBe(0);
    const { stdout } = await run(small, "stat -c %s big holes 2>/dev/null");
    for (const size of stdout.split("\n")) expect(Number(size)).toBeLessThanOrEqual(20 * 1024 * 1024);
    await expectServing();
  });

  test("a link out of the workspace is followed by no file call", async () => {
    // Not below /tmp: that is the guest's own for the guest.
    const outside = await mkdtemp("/var/tmp/outside-");
    try {
      await writeFile(`${outside}/secret`, "of the machine");
      const up = `../../../../../../../..${outside}`;
      await run(
        guest,
        `ln -s ${outside} away; ln -s ${up} up; ln -s ${outside}/secret leak; ln -s ${outside}/new hole`,
      );
      for (const path of ["leak", "away/secret", "up/secret", "/proc/self/root/etc/passwd"]) {
        expect(await codeOf(guest.files.readFile(absolute(path))), path).not.toBe("ok");
      }
      for (const path of ["leak", "hole", "away/new", "up/new"]) {
        expect(await codeOf(guest.files.writeFile(absolute(path), bytes("x"))), path).not.toBe("ok");
      }
      for (const path of ["away", "up"]) {
        expect(await codeOf(guest.files.list(absolute(path))), path).not.toBe("ok");
        expect(await codeOf(guest.files.mkdir(absolute(`${path}/folder`))), path).not.toBe("ok");
        expect(await codeOf(guest.files.remove(absolute(`${path}/secret`), { recursive: true })), path).not.toBe("ok");
      }
      expect(await readdir(outside)).toEqual(["secret"]);
      expect(await readFile(`${outside}/secret`, "utf8")).toBe("of the machine");
    } finally {
      await rm(outside, { recursive: true });
    }
    await expectServing();
  });
});

function absolute(path: string): string {
  return path.startsWith("/") ? path : `/workspace/${path}`;
}

test.skipIf(NO_BUBBLEWRAP)(
  "a server that is killed in the middle of a command is an error of that command alone",
  async () => {
    // spec: X-1 — user report S18
    let server = await startSandboxServer();
    try {
      const sandbox = sandboxOf(server.url, { graceMs: 1_000 });
      await run(sandbox, "echo kept > kept.txt");
      const request = { command: "echo begun; sleep 60", cwd: sandbox.root, env: {}, timeoutMs: 10_000 };
      const events: ExecEvent[] = [];
      for await (const event of sandbox.exec(request, new AbortController().signal)) {
        // The command is under way: it has said something.
        if (events.push(event) === 1) await server.kill();
      }
      expect(events.map((event) => event.type)).toEqual(["stdout", "stderr", "exit"]);
      expect(events.at(-1)).toMatchObject({ exitCode: 127, timedOut: false });
      server = await startSandboxServer({}, server);
      expect(await run(sandbox, "cat kept.txt")).toMatchObject({ stdout: "kept\n", exitCode: 0 });
    } finally {
      await server.close();
    }
  },
);
