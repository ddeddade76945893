import { expect, test } from "vitest";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { bytes, read, run } from "./support/shell.ts";

const make = (maxBytes = 1 << 24) => createMemorySandbox({ maxBytes, now: Date.now });

// spec: X-2
test.each([
  ["a busy loop", "while true; do :; done", "too many commands"],
  ["a loop that fills a variable", "x=aaaa; while true; do x=$x$x; done", "limit exceeded"],
  ["recursion without end", "f() { f; }; f", "recursion"],
  ["a fork bomb", ":(){ :|:& };:", "recursion"],
  ["an awk loop", "awk 'BEGIN { while (1) { } }'", "maximum iterations"],
  ["endless output", "while true; do echo 0123456789012345678901234567890123456789 | cat /big /big; done", "exceeded"],
])("ends %s within its limits", async (_, command, message) => {
  const sandbox = make();
  await sandbox.files.writeFile("/big", new Uint8Array(4 << 20).fill(97));
  const ran = await run(sandbox, command, { timeoutMs: 10_000 });
  expect(ran.exitCode).not.toBe(0);
  expect(ran.stderr).toContain(message);
});

test("names the http backend when a program is missing", async () => {
  const ran = await run(make(), "echo before; python3 -c 1; npm i; node x.js; gcc a.c; tar cf a b");
  expect(ran).toMatchObject({ stdout: "before\n", exitCode: 127 });
  expect(ran.stderr).toContain("python3: command not found");
  expect(ran.stderr).toContain("without python3, npm, node, gcc, tar; the `http` sandbox backend has a real shell");
  expect((await run(make(), "command -v python3 || which node || echo none")).stdout).toBe("none\n");
});

test("keeps going after a redirection that fails, and reports it", async () => {
  const ran = await run(make(), "echo a; echo x > no/such/dir; echo y > /bin/ls; echo b");
  expect(ran).toMatchObject({ stdout: "a\nb\n", exitCode: 1 });
  expect(ran.stderr).toContain("no such file or directory: /workspace/no/such/dir");
  expect(ran.stderr).toContain("permission denied: /bin/ls");
});

test("keeps the workspace within its quota and leaves the file as it was", async () => {
  const sandbox = make(1000);
  await run(sandbox, "printf 'keep' > a");
  const ran = await run(sandbox, "seq 1 1000 >> a; cp a b && echo copied");
  expect(ran.stderr).toContain("no space left: the workspace holds at most 1000 bytes");
  expect(await read(sandbox, "/workspace/a")).toBe("keep");
  const refused = await sandbox.files.writeFile("/workspace/c", new Uint8Array(2000));
  expect(refused).toMatchObject({ ok: false, error: { code: "no_space" } });
  await sandbox.files.remove("/workspace/a", { recursive: false });
  await sandbox.files.remove("/workspace/b", { recursive: false });
  expect(await sandbox.files.writeFile("/workspace/c", new Uint8Array(1000))).toMatchObject({ ok: true });
});

test("removes and moves links that lead nowhere or in circles", async () => {
  const sandbox = make();
  const ran = await run(
    sandbox,
    "ln -s l1 l2; ln -s l2 l1; ln -s no d; ln -s no e; touch f; mkdir k; mv d g; mv e k; rm l1 l2 f; ls; ls k",
  );
  expect(ran).toMatchObject({ stdout: "g\nk\ne\n", stderr: "", exitCode: 0 });
  expect((await run(sandbox, "readlink g; rm g; ls")).stdout).toBe("no\nk\n");
});

test("offers its programs in /bin and swallows what goes to /dev/null, without storing either", async () => {
  const sandbox = make();
  const ran = await run(sandbox, "/bin/echo hi; which ls; echo gone > /dev/null; cat /dev/null; cp /bin/ls x; ls /dev");
  expect(ran.stdout).toBe("hi\n/usr/bin/ls\nnull\nstderr\nstdin\nstdout\ntty\n");
  expect((await run(sandbox, "rm -r /bin /usr /dev; mkdir /bin/x; /bin/echo still")).stdout).toBe("still\n");
});

test("protects the workspace itself but not what is in it", async () => {
  const sandbox = make();
  await run(sandbox, "touch a; rm -rf /workspace /tmp /; mv /workspace /elsewhere");
  expect((await run(sandbox, "ls -d /workspace /tmp; rm -rf /workspace/*; ls")).stdout).toMatch(
    /^\/workspace\n+\/tmp\n$/,
  );
});

test("runs scripts with a shebang, here documents and functions", async () => {
  const script =
    "cat > s.sh <<'END'\n#!/bin/bash\necho \"got $1\"\n  indented() { echo in; }\nindented\nEND\nchmod +x s.sh\n./s.sh one";
  expect((await run(make(), script)).stdout).toBe("got one\nin\n");
});

test("keeps permissions, times, hard links and appends", async () => {
  const sandbox = make();
  const ran = await run(
    sandbox,
    "echo one > a; chmod 640 a; ln a b; echo two >> b; touch -d 2020-01-02T03:04:05Z a; stat -c '%a %s' b; cat a; cp a c; rm a; cat b",
  );
  expect(ran.stdout).toBe("640 8\none\ntwo\none\ntwo\n");
  const stat = await sandbox.files.stat("/workspace/b");
  expect(stat).toMatchObject({ value: { mtimeMs: Date.UTC(2020, 0, 2, 3, 4, 5), mode: 0o640 } });
});

test("copies and moves trees, onto existing ones too", async () => {
  const sandbox = make();
  const ran = await run(
    sandbox,
    "mkdir -p a/b; echo 1 > a/b/f; ln -s b/f a/l; cp -r a c; mkdir d; echo 9 > d/f; mv a d; cp -r c/. d/a; mv -f c/b/f d/f; cat d/f d/a/l; find d c",
  );
  expect(ran.stdout).toBe("1\n1\nd\nd/a\nd/a/b\nd/a/b/f\nd/a/l\nd/f\nc\nc/b\nc/l\n");
  expect((await run(sandbox, "mv d d/a; cp -r d d/a/x")).exitCode).toBe(1);
});

test("stops file operations of a command that was stopped", async () => {
  const sandbox = make();
  // Whether the deadline comes before, between or after the first writes: later ones must not come.
  await sandbox.files.writeFile("/workspace/log", bytes("begin\n"));
  const ran = await run(sandbox, "for i in $(seq 1 500); do sleep 0.02; echo $i >> log; done", { timeoutMs: 150 });
  expect(ran.timedOut).toBe(true);
  const before = await read(sandbox, "/workspace/log");
  await run(sandbox, "sleep 0.2");
  expect(await read(sandbox, "/workspace/log")).toBe(before);
});

test("gives other work a turn while a command goes through many files", async () => {
  const sandbox = make();
  for (let i = 0; i < 2000; i++) await sandbox.files.writeFile(`/workspace/f${i}`, bytes("x"));
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  expect((await run(sandbox, "ls -l | wc -l; cat f1*")).exitCode).toBe(0);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(1);
});
