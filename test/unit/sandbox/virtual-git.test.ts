import { spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { read, run } from "./support/shell.ts";
import { newWorkspace, openWorkspace } from "./support/sqlite.ts";

const make = () => createMemorySandbox({ maxBytes: 1 << 24, now: Date.now });
const START = "git init -q -b main; git config user.name 'Ann B'; git config user.email a@b.c";
const ONE = `${START}; echo one > a.txt; mkdir -p src/deep; printf 'x\\ny\\nz\\n' > src/deep/b.txt; echo '*.log' > .gitignore; git add .; git commit -qm first`;

/** Whether this computer has the git that ours is compared with. */
const hasGit = spawnSync("git", ["--version"]).status === 0;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "virtual-git-")));
afterAll(() => rmSync(folder, { recursive: true }));

type Words = { readonly stdout: string; readonly stderr: string };

/** What the computer's own git says in a fresh directory. */
function realGit(script: string): Words {
  const cwd = mkdtempSync(join(folder, "w"));
  const env = { PATH: process.env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const { stdout, stderr } = spawnSync("bash", ["-c", `${script}; echo "exit $?"`], { cwd, env, encoding: "utf8" });
  return { stdout: stdout.replaceAll(cwd, "/workspace"), stderr: stderr.replaceAll(cwd, "/workspace") };
}

/** Names of objects and times are not the same twice. */
function timeless(text: string): string {
  return text
    .replace(/\b[0-9a-f]{40}\b/g, "OID")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7}\b/g, "SHORT")
    .replace(/^Date: .*$/gm, "Date")
    .replace(/^hint: .*\n/gm, "");
}

// spec: X-2
test.skipIf(!hasGit).each([
  ["status of an empty repository", `${START}; git status; git status -s; git status --porcelain --branch`],
  [
    "untracked, staged and changed files",
    `${START}; echo 1 > a; mkdir d; echo 2 > d/b; git status; git add a; git status; echo 3 >> a; git status; git status -s; git status --porcelain -b`,
  ],
  ["a clean work tree", `${ONE}; git status; git status -s; git status -sb`],
  [
    "paths seen from a subdirectory",
    `${ONE}; echo 2 >> a.txt; rm src/deep/b.txt; echo n > src/n; cd src; git status; git status -s; git status --porcelain`,
  ],
  [
    "ignored and missing files",
    `${ONE}; echo l > x.log; git status -s; git add x.log; git add none; git add -f x.log; git status -s`,
  ],
  [
    "commits",
    `${START}; echo 1 > a; git add a; git commit -m 'One two' -m body; echo 2 >> a; git commit -am second; rm a; echo b > b; git add -A; git commit -m third; git log`,
  ],
  [
    "a commit of nothing",
    `${START}; git commit -m x; echo 1 > a.txt; git add .; git commit -qm x; git commit -m x; echo u > u; git commit -m x; echo 2 >> a.txt; git commit -m x`,
  ],
  [
    "amended and empty commits",
    `${ONE}; git commit -q --amend -m changed; git commit --allow-empty -m empty; git log --format='%s|%an|%ae'`,
  ],
  [
    "logs",
    `${ONE}; echo 2 >> a.txt; git commit -qam second; git log; git log --oneline; git log -n 1 --stat; git log -1 -p; git log --oneline -- src; git log --format='%h %s%n%b'; git log --name-only --oneline`,
  ],
  ["a log without commits", `${START}; git log`],
  [
    "differences",
    `${ONE}; echo 2 >> a.txt; rm src/deep/b.txt; echo n > n; git diff; git diff --stat; git diff --name-only; git diff --name-status; git diff -- src; git diff --numstat; git diff --shortstat`,
  ],
  [
    "staged differences",
    `${ONE}; echo 2 >> a.txt; echo n > n; git add .; git diff; git diff --cached; git diff --staged --stat; git diff HEAD --name-only`,
  ],
  [
    "differences of commits",
    `${ONE}; seq 1 40 > n; git add n; git commit -qm n; sed -i 's/^20$/twenty/; 35d' n; git commit -qam n2; git diff HEAD~1 HEAD; git diff HEAD~2..HEAD --stat; git diff HEAD^ -- n | head -5`,
  ],
  [
    "a missing newline at the end",
    `${ONE}; printf 'a' > n; git add n; git commit -qm n; printf 'a\\n' > n; git diff; printf 'b' > n; git diff`,
  ],
  [
    "binary files",
    `${START}; printf 'a\\0b' > bin; git add bin; git commit -m bin; printf 'a\\0c' > bin; git diff; git diff --stat | tail -1`,
  ],
  [
    "whether there are differences",
    `${ONE}; git diff --quiet; echo $?; echo 2 >> a.txt; git diff --quiet; echo $?; git diff --exit-code --name-only`,
  ],
  [
    "branches",
    `${ONE}; git branch; git branch work; git branch; git branch work; git branch --show-current; git checkout work; git checkout -b more; git branch; git switch main; git switch -c new; git branch -m newer; git branch; git branch -d work; git branch -d newer`,
  ],
  [
    "a switch with changes",
    `${ONE}; git checkout -q -b w; echo 2 >> a.txt; git commit -qam two; git checkout -q main; cat a.txt; echo 3 >> src/deep/b.txt; git checkout -q w; git status -s; cat a.txt`,
  ],
  [
    "a switch that would lose changes",
    `${ONE}; git checkout -q -b w; echo 2 >> a.txt; git commit -qam two; git checkout -q main; echo 3 >> a.txt; git checkout w; cat a.txt; git branch --show-current`,
  ],
  [
    "a branch that is not merged",
    `${ONE}; git checkout -q -b w; echo 2 >> a.txt; git commit -qam two; git checkout -q main; git branch -d w; git branch -D w`,
  ],
  [
    "files put back",
    `${ONE}; echo 2 >> a.txt; rm src/deep/b.txt; git checkout -- a.txt; git restore src; git status -s; echo 3 >> a.txt; git add a.txt; git restore --staged a.txt; git status -s; git checkout HEAD -- a.txt; git status -s; git checkout none`,
  ],
  [
    "names of revisions",
    `${ONE}; git rev-parse HEAD; git rev-parse --short HEAD; git rev-parse --abbrev-ref HEAD; git rev-parse --show-toplevel --is-inside-work-tree --git-dir; cd src; git rev-parse --show-toplevel --show-prefix; git rev-parse main`,
  ],
  [
    "configuration",
    `${START}; git config user.name; git config --get user.email; git config none.such; git config user.name Bob; git config user.name; git config --unset user.name; git config user.name`,
  ],
  ["removed files", `${ONE}; git rm a.txt; git status -s; git rm src; git rm -r src; git rm none; git status -s; ls`],
  [
    "files no longer tracked",
    `${ONE}; git rm --cached a.txt; git status -s; echo x >> src/deep/b.txt; git rm -q --cached src/deep/b.txt; git status -s`,
  ],
  [
    "resets",
    `${ONE}; echo 2 >> a.txt; git add .; git reset -q a.txt; git status -s; git commit -qam two; git reset -q --soft HEAD~1; git status -s; git reset -q; git status -s; git reset --hard; git status -s; cat a.txt`,
  ],
  [
    "shown commits",
    `${ONE}; echo 2 >> a.txt; git commit -qam two; git show; git show HEAD~1 --stat; git show HEAD:a.txt; git show HEAD~1:none`,
  ],
  ["files of the index", `${ONE}; git ls-files; cd src; git ls-files`],
  ["work outside of a repository", "git status; git log"],
  [
    "executable files and links",
    `${ONE}; echo x > run; chmod +x run; ln -s a.txt link; git add .; git commit -m more; git diff HEAD~1 --stat | tail -1; git ls-files`,
  ],
])("says what git says of %s", async (_, script) => {
  const ran = await run(make(), `${script}; echo "exit $?"`);
  const real = realGit(script);
  expect(timeless(ran.stdout)).toBe(timeless(real.stdout));
  // There is no stash to advise.
  expect(timeless(ran.stderr)).toBe(timeless(real.stderr).replace("changes or stash them before", "changes before"));
});

test("commits as the agent when nobody else is named", async () => {
  const sandbox = make();
  const script = "git init -q; echo 1 > a; git add a; git commit -qm x; git log --format='%an <%ae>'";
  expect((await run(sandbox, script)).stdout).toBe("Flyto Agent <agent@flyto.local>\n");
  const env = { GIT_AUTHOR_NAME: "Eve", GIT_AUTHOR_EMAIL: "e@v.e" };
  const by = await run(sandbox, "git commit -q --allow-empty -m y; git log -1 --format='%an <%ae> %cn'", { env });
  expect(by.stdout).toBe("Eve <e@v.e> Flyto Agent\n");
});

test("says what it has and where the real git is when it cannot do something", async () => {
  const sandbox = make();
  await run(sandbox, ONE);
  for (const [command, exitCode, words] of [
    ["git stash", 1, "'stash' is not a git command here. Known: add, branch, "],
    ["git toString", 1, "'toString' is not a git command here"],
    ["git log --graph", 129, "unknown option `--graph'; known here: --name-only"],
    ["git commit -z -m x", 129, "unknown option `-z'"],
    ["git --bare status", 129, "unknown option: --bare"],
    ["git clone https://example.com/a.git", 128, "it has no network"],
    ["git push", 128, "it has no network"],
    ["git", 1, ""],
  ] as const) {
    const ran = await run(sandbox, command);
    expect(ran.exitCode, command).toBe(exitCode);
    expect(ran.stdout + ran.stderr).toContain(words);
    expect(ran.stdout + ran.stderr).toContain("The `http` sandbox backend has the real git.");
  }
});

test("runs no hooks", async () => {
  const sandbox = make();
  const hook =
    "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran; exit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*";
  const ran = await run(sandbox, `git init -q; ${hook}; echo 1 > a; git add a; git commit -qm x; ls`);
  expect(ran).toMatchObject({ stdout: "a\n", exitCode: 0 });
});

test("keeps a repository over a restart, and stays in its workspace", async () => {
  const database = newWorkspace();
  await run(openWorkspace(database), ONE);
  const after = openWorkspace(database);
  expect((await run(after, "git log --format=%s; git status -s")).stdout).toBe("first\n");
  const outside = await run(after, "git add /tmp/x; git add ../../x");
  expect(outside.stderr).toContain("is outside repository at '/workspace'");
});

test("fails with words when the workspace is full, and keeps what was committed", async () => {
  const sandbox = createMemorySandbox({ maxBytes: 20_000, now: Date.now });
  await run(sandbox, ONE);
  const big = await run(sandbox, "seq 1 3000 > big; git add big && git commit -qm big");
  expect(big.exitCode).not.toBe(0);
  expect(big.stderr).toContain("no space left");
  expect((await run(sandbox, "git log --format=%s")).stdout).toBe("first\n");
  expect(await read(sandbox, "/workspace/a.txt")).toBe("one\n");
});
