import { expect, test } from "vitest";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { MAX_OUTPUT_BYTES } from "../../../src/sandbox/virtual/limits.ts";
import { bytes, read, run } from "./support/shell.ts";

const make = (maxBytes = 1 << 25) => createMemorySandbox({ maxBytes, now: Date.now });

/**
 * Commands without an end. None of them waits, so no deadline is needed: a count must end each, and it must, because a
 * busy loop holds the object's thread and nobody could stop it from outside.
 */
const ENDLESS: readonly (readonly [string, string, string])[] = [
  ["a busy loop", "while true; do :; done", "too many commands"],
  ["a busy loop of the other kind", "until false; do :; done", "too many commands"],
  ["a counting loop", "for ((;;)); do :; done", "too many commands"],
  ["a loop in a shell of its own", "bash -c 'while true; do :; done'", "too many commands"],
  ["a loop in evaluated text", "eval 'while :; do :; done'", "too many commands"],
  ["a loop under a timeout of its own", "timeout 1000 bash -c 'while :; do :; done'", "too many commands"],
  ["output into a pipe nobody empties", "while true; do echo y; done | head -n 2", "too many commands"],
  ["recursion", "f() { f; }; f", "recursion"],
  ["a fork bomb", ":(){ :|:& };:", "recursion"],
  ["a script that runs itself", "echo 'bash s' > s; bash s", "nested execution depth"],
  ["a file that sources itself", "echo '. ./s' > s; . ./s", "maximum nesting depth"],
  ["a huge sequence", "seq 1 1000000000 | tail -n 1", "seq: iteration limit exceeded"],
  ["a huge brace expansion", "echo {1..100000000}", "brace expansion"],
  ["a huge field", "printf '%1000000000d' 1", "format width limit"],
  ["a string that doubles", "x=aaaa; while true; do x=$x$x; done", "string length limit"],
  ["an array that grows", "a=(); while true; do a+=(x); done", "element limit"],
  ["an awk loop", "awk 'BEGIN { while (1) { } }'", "maximum iterations"],
  ["an awk string that doubles", "awk 'BEGIN { x = \"a\"; while (1) x = x x }'", "size limit exceeded"],
  ["a jq recursion", "jq -n 'def f: f; f'", "query depth limit"],
  ["a jq generator", "jq -n '[limit(1e9; repeat(1))]'", "too many iterations"],
  ["a jq range", "jq -n 'range(1e12)'", "limit exceeded"],
  ["a sed loop", "echo x | sed ':a;ba'", "maximum iterations"],
  ["a sed loop that grows", "echo x | sed ':a;s/^/xx/;ba'", "maximum iterations"],
];

// spec
test.each(ENDLESS)(
  "ends %s with 126, says why, and the session lives on",
  async (_, command, words) => {
    const sandbox = make();
    const ran = await run(sandbox, command, { timeoutMs: 600_000 });
    expect(ran).toMatchObject({ exitCode: 126, timedOut: false });
    expect(ran.stderr).toContain(words);
    // A setting of the interpreter's, which nobody here has.
    expect(ran.stderr).not.toContain("executionLimits");
    expect(await run(sandbox, "echo alive > f; cat f")).toMatchObject({ stdout: "alive\n", exitCode: 0 });
  },
  60_000,
);

test("ends a loop that waits at its deadline with 124, and the session lives on", async () => {
  const sandbox = make();
  const ran = await run(sandbox, "while true; do sleep 0.01; done", { timeoutMs: 100 });
  expect(ran).toMatchObject({ exitCode: 124, timedOut: true });
  expect(ran.stderr).toContain("the command was stopped after 100 ms");
  expect((await run(sandbox, "echo alive")).stdout).toBe("alive\n");
});

test("stops between statements when the signal aborts, and the session lives on", async () => {
  const sandbox = make();
  const stop = new AbortController();
  const request = { command: "echo a; sleep 50; touch b; sleep 50", cwd: sandbox.root, env: {}, timeoutMs: 600_000 };
  const reading = async () => {
    for await (const event of sandbox.exec(request, stop.signal)) {
      if (event.type === "stdout") stop.abort(new Error("enough"));
    }
  };
  await expect(reading()).rejects.toThrow("enough");
  expect((await run(sandbox, "ls; echo alive")).stdout).toBe("alive\n");
});

test("takes no exponential time for a regular expression", async () => {
  const ran = await run(make(), `echo ${"a".repeat(5_000)}b | grep -E '(a+)+$' || echo none`);
  expect(ran.stdout).toBe("none\n");
});

test("ends a command that gives more output than it may, and gives no more than that", async () => {
  const sandbox = make();
  await sandbox.files.writeFile("/workspace/big", new Uint8Array(4 << 20).fill(97));
  const ran = await run(sandbox, "cat big; cat big; cat big; cat big; echo never");
  expect(ran.exitCode).toBe(126);
  expect(ran.stderr).toContain("total output size exceeded");
  expect(ran.stdout.length).toBeLessThanOrEqual(MAX_OUTPUT_BYTES);
  expect(ran.stdout).not.toContain("never");
  expect((await run(sandbox, "echo alive")).stdout).toBe("alive\n");
});

test("holds no file larger than it may and no more files than it may", async () => {
  const sandbox = createMemorySandbox({ maxBytes: 1 << 20, maxFileBytes: 1_000, maxNodes: 10, now: Date.now });
  await sandbox.files.writeFile("/workspace/a", bytes("x".repeat(900)));
  const large = await run(sandbox, "cat a a > b; cat a >> a; echo $?");
  expect(large.stderr).toContain("file too large: at most 1000 bytes");
  expect(await read(sandbox, "/workspace/a")).toHaveLength(900);
  const many = await run(sandbox, "for i in 1 2 3 4 5 6 7 8 9; do touch f$i; done; echo f*");
  expect(many.stderr).toContain("the workspace holds at most 10 files");
  expect(many.stdout).toBe("f1 f2 f3 f4 f5\n");
});

// spec: X-2
test.each([
  ["jq", `echo '{"a":[{"n":1},{"n":"zwei"}]}' | jq -r '.a[] | .n'`, "1\nzwei\n"],
  ["jq over files", `echo '{"b":2}' > j; jq -c '. + {c: 3}' j`, '{"b":2,"c":3}\n'],
  ["awk", "printf 'a 1\\nb 2\\nc 3\\n' | awk '$2 > 1 { sum += $2; print $1 } END { print sum }'", "b\nc\n5\n"],
  ["awk with fields", "echo 'x:y:z' | awk -F: -v n=2 '{ printf \"%s-%d\\n\", $n, NF }'", "y-3\n"],
  ["rg", "mkdir -p d; echo 'say hello' > d/a.txt; echo bye > d/b.md; rg hello", "d/a.txt:1:say hello\n"],
  ["rg with options", "mkdir -p d; echo Hello > d/a.txt; echo hello > d/b.md; rg -il -g '*.md' hello d", "d/b.md\n"],
])("runs %s", async (_, command, stdout) => {
  expect(await run(make(), command)).toMatchObject({ stdout, stderr: "", exitCode: 0 });
});
