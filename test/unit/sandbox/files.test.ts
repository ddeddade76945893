import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../src/contract/sandbox.ts";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { bytes, codeOf, read, run } from "./support/shell.ts";
import { newWorkspace, openWorkspace } from "./support/sqlite.ts";

type Limits = { readonly maxBytes?: number; readonly maxNodes?: number };

const MAKERS: Readonly<Record<string, (limits?: Limits) => Sandbox>> = {
  memory: (limits) => createMemorySandbox({ maxBytes: 256 * 1024 * 1024, now: Date.now, ...limits }),
  SQLite: (limits) => openWorkspace(newWorkspace(), limits),
};

async function names(sandbox: Sandbox, path: string): Promise<readonly string[]> {
  const answer = await sandbox.files.list(path);
  return answer.ok ? answer.value.map((entry) => entry.path) : [answer.error.code];
}

describe.each(Object.entries(MAKERS))("files of a virtual sandbox in %s", (_name, make) => {
  it("gives kind, size, mode and time of a file", async () => {
    // spec: X-1
    const { files } = make();
    expect(await codeOf(files.writeFile("/workspace/a/b/c.txt", bytes("héllo")))).toBe("ok");
    const stat = { kind: "file", size: 6, mode: 0o644, path: "/workspace/a/b/c.txt", mtimeMs: expect.any(Number) };
    expect(await files.stat("/workspace/a/b/c.txt")).toEqual({ ok: true, value: stat });
    expect(await files.stat("/workspace/a")).toMatchObject({ value: { kind: "directory", mode: 0o755 } });
  });

  it("refuses paths that no file can have", async () => {
    // spec: X-1
    const { files } = make();
    expect(await codeOf(files.remove("/workspace", { recursive: true }))).toBe("permission");
    expect(await codeOf(files.readFile("relative"))).toBe("invalid");
    expect(await codeOf(files.readFile("/workspace/nul\0"))).toBe("invalid");
    expect(await codeOf(files.writeFile(`/workspace/${"n".repeat(256)}`, bytes("")))).toBe("invalid");
    expect(await codeOf(files.writeFile("/workspace/dir/file", bytes("")))).toBe("ok");
    expect(await codeOf(files.writeFile("/workspace/dir/file/below", bytes("")))).toBe("not_directory");
  });

  it("keeps every byte of a 10 MB file, written by tools or by the shell", async () => {
    // spec: X-2
    const sandbox = make();
    const big = Uint8Array.from({ length: 10 * 1024 * 1024 + 17 }, (_, i) => (i * 31 + (i >> 9)) & 255);
    expect(await codeOf(sandbox.files.writeFile("/workspace/big", big))).toBe("ok");
    expect(await run(sandbox, "cp big copy; printf end >> copy; wc -c < copy")).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(String(big.length + 3)),
    });
    const back = await sandbox.files.readFile("/workspace/copy");
    expect(back.ok && Buffer.compare(back.value.subarray(0, big.length), big)).toBe(0);
    expect(back.ok && new TextDecoder().decode(back.value.subarray(big.length))).toBe("end");
    await sandbox.files.writeFile("/workspace/big", bytes("short"));
    expect(await read(sandbox, "/workspace/big")).toBe("short");
  }, 20_000);

  it("appends across the pieces a file is kept in", async () => {
    // spec: X-2
    const sandbox = make();
    await sandbox.files.writeFile("/workspace/log", new Uint8Array(256 * 1024 - 2).fill(97));
    expect(await run(sandbox, "printf 12345 >> log; printf 6 >> log; tail -c 8 log")).toMatchObject({
      stdout: "aa123456",
      exitCode: 0,
    });
  });

  it("lists and walks 10,000 files quickly", async () => {
    // spec: X-2
    const sandbox = make();
    for (let i = 0; i < 10_000; i++) await sandbox.files.writeFile(`/workspace/many/f${i}`, bytes(""));
    const begun = performance.now();
    expect(await names(sandbox, "/workspace/many")).toHaveLength(10_000);
    let seen = 0;
    for await (const _ of sandbox.files.walk("/workspace", 20_000)) seen++;
    expect(seen).toBe(10_001);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(await codeOf(sandbox.files.remove("/workspace/many", { recursive: true }))).toBe("ok");
    expect(await names(sandbox, "/workspace")).toEqual([]);
  }, 30_000);

  it("refuses what does not fit and leaves the workspace as it was", async () => {
    // spec: X-2
    const sandbox = make({ maxBytes: 1000, maxNodes: 8 });
    const { files } = sandbox;
    expect(await codeOf(files.writeFile("/workspace/a", new Uint8Array(900)))).toBe("ok");
    expect(await codeOf(files.writeFile("/workspace/new/b", new Uint8Array(200)))).toBe("no_space");
    expect(await names(sandbox, "/workspace")).toEqual(["/workspace/a"]);
    expect(await codeOf(files.writeFile("/workspace/a", new Uint8Array(800)))).toBe("ok");
    expect(await codeOf(files.writeFile("/workspace/b", new Uint8Array(200)))).toBe("ok");
    await files.remove("/workspace/a", { recursive: false });
    expect(await codeOf(files.writeFile("/workspace/c", new Uint8Array(800)))).toBe("ok");
    for (const name of ["d", "e", "f"]) expect(await codeOf(files.mkdir(`/workspace/${name}`))).toBe("ok");
    expect(await codeOf(files.mkdir("/workspace/g"))).toBe("no_space");
  });

  it("takes back a tree copy that does not fit", async () => {
    // spec: X-2
    const sandbox = make({ maxBytes: 1000 });
    await run(sandbox, "mkdir a; printf '%0300d' 0 > a/1; printf '%0300d' 0 > a/2");
    expect(await run(sandbox, "cp -r a b")).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("space") });
    expect(await names(sandbox, "/workspace")).toEqual(["/workspace/a"]);
    expect(await codeOf(sandbox.files.writeFile("/workspace/c", new Uint8Array(400)))).toBe("ok");
  });
});
