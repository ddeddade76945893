import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { ExecEvent, Sandbox } from "../../../src/contract/sandbox.ts";
import { gitInfo } from "../../../src/sandbox/git-info.ts";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { bytes, run } from "./support/shell.ts";

const never = new AbortController().signal;
const make = () => createMemorySandbox({ maxBytes: 1 << 24, now: Date.now });
const folder = realpathSync(mkdtempSync(join(tmpdir(), "git-info-")));
afterAll(() => rmSync(folder, { recursive: true }));

/** A sandbox whose shell is this computer's: what git itself answers. */
const real: Sandbox = {
  ...make(),
  backend: "real",
  async *exec({ command, cwd }): AsyncGenerator<ExecEvent> {
    try {
      yield { type: "stdout", data: execFileSync("bash", ["-c", command], { cwd, stdio: "pipe" }) };
      yield { type: "exit", exitCode: 0, timedOut: false, cwd };
    } catch {
      yield { type: "exit", exitCode: 1, timedOut: false, cwd };
    }
  },
};
const inVirtual = async (sandbox: Sandbox, command: string) => void (await run(sandbox, command));
const inReal = async (_: Sandbox, command: string) =>
  void execFileSync("bash", ["-c", `export GIT_CONFIG_GLOBAL=/dev/null; ${command}`], { cwd: folder, stdio: "pipe" });

// spec: P-4
test.each([
  ["virtual", make(), "/workspace", inVirtual],
  ["real", real, folder, inReal],
] as const)("tells branch, changes and root of a repository of the %s shell", async (_, sandbox, root, shell) => {
  expect(await gitInfo(sandbox, root, never)).toBeUndefined();
  await shell(sandbox, "git init -q -b main; git config user.name a; git config user.email a@b.c");
  expect(await gitInfo(sandbox, root, never)).toEqual({ branch: "main", dirty: false, root });
  await shell(sandbox, "mkdir sub; echo 1 > sub/a");
  expect(await gitInfo(sandbox, `${root}/sub`, never)).toEqual({ branch: "main", dirty: true, root });
  await shell(sandbox, "git add .; git commit -qm one; git checkout -q -b work/v1.2");
  expect(await gitInfo(sandbox, root, never)).toEqual({ branch: "work/v1.2", dirty: false, root });
  await shell(sandbox, 'git checkout -q "$(git rev-parse HEAD)"; echo 2 >> sub/a');
  expect(await gitInfo(sandbox, root, never)).toEqual({ branch: undefined, dirty: true, root });
});

const answering = (exec: Sandbox["exec"]): Sandbox => ({ ...make(), exec });

test("tells nothing, and does not throw, when the shell fails, hangs up or is aborted", async () => {
  const broken = answering(() => {
    throw new Error("gone");
  });
  expect(await gitInfo(broken, "/", never)).toBeUndefined();
  const noGit = answering(async function* () {
    yield { type: "stderr", data: bytes("git: command not found\n") };
    yield { type: "exit", exitCode: 127, timedOut: false, cwd: "/" };
  });
  expect(await gitInfo(noGit, "/", never)).toBeUndefined();
  const silent = answering(async function* () {});
  expect(await gitInfo(silent, "/", never)).toBeUndefined();
  expect(await gitInfo(make(), "/workspace", AbortSignal.abort())).toBeUndefined();
});

test("stops reading a list of changes that has no end", async () => {
  const endless = answering(async function* (_, signal) {
    yield { type: "stdout", data: bytes("/w\n## main...origin/main [ahead 1]\n") };
    while (!signal.aborted) yield { type: "stdout", data: bytes("?? a-file-with-a-name\n".repeat(100)) };
  });
  expect(await gitInfo(endless, "/", never)).toEqual({ branch: "main", dirty: true, root: "/w" });
});
