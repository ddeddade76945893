import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/contract/sandbox.ts";
import { createMemorySandbox, createObjectSandbox, createWorkspaceTables } from "../../src/sandbox/virtual/index.ts";
import { bytes, codeOf, read, run } from "../unit/sandbox/support/shell.ts";

const MB = 1024 * 1024;
let count = 0;

/** A workspace in a Durable Object of its own; called again with the same name it is what a restarted object sees. */
async function inObject<T>(name: string, work: (sandbox: Sandbox, storage: DurableObjectStorage) => Promise<T>) {
  return runInDurableObject(env.SESSION.getByName(name), (_, ctx) => {
    const { sql } = ctx.storage;
    const known = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'workspace_nodes'").toArray().length > 0;
    if (!known) ctx.storage.transactionSync(() => createWorkspaceTables(sql));
    return work(createObjectSandbox(ctx.storage, { maxBytes: 64 * MB, now: Date.now }), ctx.storage);
  });
}

const fresh = () => `workspace-${count++}`;

// spec: X-2
test("keeps a 10 MB file in rows below 1 MB and appends without rewriting it", async () => {
  await inObject(fresh(), async (sandbox, { sql }) => {
    const big = Uint8Array.from({ length: 10 * MB }, (_, i) => (i % 64 === 63 ? 10 : 97 + (i % 26)));
    await sandbox.files.writeFile("/workspace/big", big);
    expect(sql.exec("SELECT MAX(LENGTH(data)) AS most FROM workspace_chunks").one().most).toBeLessThan(MB);
    const first = () => sql.exec("SELECT rowid FROM workspace_chunks WHERE part = 0").one().rowid;
    const untouched = first();
    const ran = await run(
      sandbox,
      "echo tail >> big; cp big copy; tail -c 5 copy; wc -c < big; sha256sum big copy | cut -c1-64 | uniq | wc -l",
    );
    expect(ran).toMatchObject({ stdout: `tail\n${10 * MB + 5}\n1\n`, exitCode: 0 });
    expect(sql.exec("SELECT COUNT(*) AS kept FROM workspace_chunks WHERE rowid = ?", untouched).one().kept).toBe(1);
    const back = await sandbox.files.readFile("/workspace/big");
    expect(back.ok && back.value.length).toBe(10 * MB + 5);
    const digest = async (data: Uint8Array) => new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    if (back.ok) expect(await digest(back.value.subarray(0, 10 * MB))).toEqual(await digest(big));
  });
}, 30_000);

test("lists, globs, finds and removes 10,000 files in reasonable time", async () => {
  await inObject(fresh(), async (sandbox, { sql }) => {
    for (let i = 0; i < 10_000; i++) await sandbox.files.writeFile(`/workspace/d${i % 10}/f${i}.txt`, bytes(`${i}`));
    const begun = performance.now();
    const ran = await run(
      sandbox,
      "ls d1 | wc -l; echo d*/f1*.txt | wc -w; find . -name '*5.txt' | wc -l; cat d3/f7773.txt",
      {
        timeoutMs: 60_000,
      },
    );
    expect(ran).toMatchObject({ stdout: "1000\n1111\n1000\n7773", stderr: "", exitCode: 0 });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect((await run(sandbox, "rm -r d*; ls -A")).stdout).toBe("");
    expect(sql.exec("SELECT COUNT(*) AS left FROM workspace_nodes").one().left).toBe(3);
    expect(sql.exec("SELECT COUNT(*) AS left FROM workspace_chunks").one().left).toBe(0);
  });
}, 30_000);

test("copies, moves, links and changes permissions, and finds all of it again after a restart", async () => {
  const name = fresh();
  const show = "find . ; readlink link dang; cat link/f up hard; stat -c '%a %n' a/run.sh; ls c/b";
  const before = await inObject(name, async (sandbox) => {
    const made = await run(
      sandbox,
      "mkdir -p a/b; echo one > a/b/f; echo x > a/run.sh; chmod 750 a/run.sh; cp -r a c; ln -s a/b link; ln -s ./a/../a/b/f up; " +
        "ln -s none dang; ln a/b/f hard; echo two >> hard; mv c/b moved; mkdir c/b; mv moved c/b; mv c/run.sh c/b/moved",
    );
    expect(made).toMatchObject({ stdout: "", stderr: "", exitCode: 0 });
    return run(sandbox, show);
  });
  expect(before.stdout).toContain("a/b\nnone\none\ntwo\none\ntwo\none\ntwo\n750 a/run.sh\nmoved\n");
  await evictDurableObject(env.SESSION.getByName(name));
  expect(await inObject(name, (sandbox) => run(sandbox, show))).toEqual(before);
  await abortAllDurableObjects();
  expect(await inObject(name, (sandbox) => run(sandbox, show))).toEqual(before);
}, 30_000);

test("takes a change back as a whole when it cannot be finished", async () => {
  const name = fresh();
  await inObject(name, async (sandbox, storage) => {
    const small = createObjectSandbox(storage, { maxBytes: 3000, maxNodes: 20, now: Date.now });
    await run(sandbox, "mkdir -p tree/sub; printf '%01000d' 1 > tree/1; printf '%01000d' 2 > tree/sub/2");
    const ran = await run(small, "cp -r tree copy; echo $?; ls");
    expect(ran.stdout).toBe("1\ntree\n");
    expect(ran.stderr).toContain("no space left");
    expect(await codeOf(small.files.writeFile("/workspace/new/deep/file", new Uint8Array(2000)))).toBe("no_space");
    expect(await codeOf(small.files.stat("/workspace/new"))).toBe("not_found");
    expect(await codeOf(small.files.writeFile("/workspace/fits", new Uint8Array(900)))).toBe("ok");
    expect((await run(small, "for i in $(seq 1 30); do mkdir m$i || break; done; ls -d m* | wc -l")).stderr).toContain(
      "at most 20",
    );
  });
}, 30_000);

test("ends runaway loops and lets timers run while files are worked on", async () => {
  await inObject(fresh(), async (sandbox) => {
    expect(await run(sandbox, "while true; do :; done")).toMatchObject({ exitCode: 126, timedOut: false });
    expect(await run(sandbox, "sleep 60", { timeoutMs: 50 })).toMatchObject({ exitCode: 124, timedOut: true });
    // Stopped by its deadline although it never waits: file operations let the timer run.
    expect(await run(sandbox, "while true; do echo x >> f; done", { timeoutMs: 500 })).toMatchObject({
      timedOut: true,
    });
    const written = await read(sandbox, "/workspace/f");
    await scheduler.wait(100);
    expect(await read(sandbox, "/workspace/f")).toBe(written);
  });
}, 30_000);

test("offers in workerd what it offers in Node", async () => {
  await inObject(fresh(), async (sandbox) => {
    const ran = await run(
      sandbox,
      "printf 'b\\na\\n' | sort | tr a-z A-Z; echo '{\"a\":[1,2]}' | jq -c .a; seq 3 | awk '{s+=$1} END {print s}'; echo hi | gzip | gunzip; echo x | sed s/x/y/; printf x | base64; rg -c b <<< abc; diff <(echo 1) <(echo 1) && echo same",
    );
    expect(ran).toMatchObject({ stdout: "A\nB\n[1,2]\n6\nhi\ny\neA==\n1\nsame\n", stderr: "", exitCode: 0 });
    expect((await run(sandbox, "python3 -V; curl http://127.0.0.1/")).stderr).toContain(
      "without python3, curl, and network access is off in it; the `http`",
    );
  });
}, 30_000);

const names = fc.constantFrom("a", "b", "c");
const paths = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => `/workspace/${parts.join("/")}`);
const operation = fc.oneof(
  fc.tuple(fc.constant("write" as const), paths, fc.integer({ min: 0, max: 600_000 })),
  fc.tuple(
    fc.constant("bash" as const),
    paths,
    paths,
    fc.constantFrom("cp -r", "mv", "ln -s", "ln", "ln -sfn", "cat <", "echo hi >>"),
  ),
  fc.tuple(fc.constant("remove" as const), paths, fc.boolean()),
  fc.tuple(fc.constant("mkdir" as const), paths),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

async function apply(sandbox: Sandbox, step: Operation): Promise<unknown> {
  switch (step[0]) {
    case "write":
      return codeOf(sandbox.files.writeFile(step[1], new Uint8Array(step[2]).fill(step[2] % 251)));
    case "remove":
      return codeOf(sandbox.files.remove(step[1], { recursive: step[2] }));
    case "mkdir":
      return codeOf(sandbox.files.mkdir(step[1]));
    case "bash":
      return run(sandbox, `${step[3]} ${step[1]} ${step[2]}`);
    default:
      return step satisfies never;
  }
}

/** Everything there is below the workspace, contents as digests. */
async function snapshot(sandbox: Sandbox): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { path, kind, size, mode } of sandbox.files.walk("/workspace", 10_000)) {
    const content = kind === "file" ? await sandbox.files.readFile(path) : undefined;
    const digest = content?.ok ? String(new Uint8Array(await crypto.subtle.digest("SHA-1", content.value))) : "";
    all.push({ path, kind, size, mode, digest, real: await sandbox.files.realPath(path) });
  }
  return all;
}

test("does over SQLite exactly what it does in memory, restarts included", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 25 }), async (steps) => {
      await inObject(fresh(), async (first, storage) => {
        const model = createMemorySandbox({ maxBytes: 2 * MB, now: () => 0 });
        const open = () => createObjectSandbox(storage, { maxBytes: 2 * MB, now: () => 0 });
        let durable = first && open();
        for (const [i, step] of steps.entries()) {
          if (i % 5 === 4) durable = open();
          expect(await apply(durable, step)).toEqual(await apply(model, step));
        }
        expect(await snapshot(open())).toEqual(await snapshot(model));
      });
    }),
    { numRuns: 40 },
  );
}, 120_000);
