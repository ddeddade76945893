import { beforeEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../../../src/contract/sandbox.ts";
import { describeSandboxUse } from "./contract-use.ts";
import { bytes, codeOf, read, run } from "./shell.ts";

export type WorkspaceSize = {
  /** Bytes the workspace may hold; without it the backend's own figure, at least 16 MiB. */
  readonly maxBytes?: number;
};

/** Gives an empty workspace. */
export type MakeSandbox = (size?: WorkspaceSize) => Promise<Sandbox>;

/** Where a backend cannot do as the others do; each is told to users. */
export type Differences = {
  /** `2>&1` on a compound command gives its errors after its output. */
  readonly joinsStreamsAtTheEnd?: true;
  /** A command stopped at its deadline gives none of the output it had made. */
  readonly losesOutputAtDeadline?: true;
};

/** What every backend must do. spec */
export function describeSandbox(name: string, make: MakeSandbox, differences: Differences = {}): void {
  describeSandboxUse(name, make, differences);
  describe(`the ${name} sandbox`, () => {
    let sandbox: Sandbox;
    const at = (path: string) => `${sandbox.root}/${path}`;
    beforeEach(async () => {
      sandbox = await make();
    });

    test("gives output, errors and the exit code of a command", async () => {
      const ran = await run(sandbox, "echo out; echo err >&2; exit 3");
      expect(ran).toMatchObject({ stdout: "out\n", stderr: "err\n", exitCode: 3, timedOut: false });
    });

    test("runs in the working directory it is given and tells the one it ends in", async () => {
      const ran = await run(sandbox, "mkdir -p a/b && cd a/b && pwd");
      expect(ran).toMatchObject({ stdout: `${at("a/b")}\n`, cwd: at("a/b") });
      expect((await run(sandbox, "pwd", { cwd: at("a") })).stdout).toBe(`${at("a")}\n`);
    });

    test("falls back to the root when the working directory is gone", async () => {
      await run(sandbox, "mkdir a");
      expect((await run(sandbox, "rm -r ../a", { cwd: at("a") })).cwd).toBe(sandbox.root);
      expect((await run(sandbox, "pwd", { cwd: at("a") })).stdout).toBe(`${sandbox.root}\n`);
    });

    test("passes the environment of one command to that command only", async () => {
      expect((await run(sandbox, "printenv TOKEN", { env: { TOKEN: "a b'c" } })).stdout).toBe("a b'c\n");
      expect((await run(sandbox, "printenv TOKEN")).stdout).toBe("");
    });

    test("feeds standard input", async () => {
      expect((await run(sandbox, "cat | tr a-z A-Z", { stdin: "größe\n" })).stdout).toContain("GR");
    });

    test("stops a command at its deadline with 124", async () => {
      const ran = await run(sandbox, "sleep 30", { timeoutMs: 100 });
      expect(ran).toMatchObject({ exitCode: 124, timedOut: true });
    });

    test("throws when the signal aborts, and only then", async () => {
      const abort = new AbortController();
      const running = run(sandbox, "sleep 30", {}, abort.signal);
      abort.abort(new Error("stop"));
      await expect(running).rejects.toThrow("stop");
      await expect(run(sandbox, "true", {}, abort.signal)).rejects.toThrow("stop");
    });

    test("reads what a command wrote and the other way round", async () => {
      await run(sandbox, "mkdir d; printf 'från skal' > d/a.txt");
      expect(await read(sandbox, at("d/a.txt"))).toBe("från skal");
      expect(await codeOf(sandbox.files.writeFile(at("x/y/z.txt"), bytes("new")))).toBe("ok");
      expect((await run(sandbox, "cat x/y/z.txt")).stdout).toBe("new");
    });

    test("keeps bytes that are no text", async () => {
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      await sandbox.files.writeFile(at("all.bin"), all);
      await run(sandbox, "cp all.bin copy.bin; cat copy.bin copy.bin > twice.bin");
      expect(await sandbox.files.readFile(at("twice.bin"))).toEqual({
        ok: true,
        value: Uint8Array.from([...all, ...all]),
      });
    });

    test("names what is wrong with a path", async () => {
      await sandbox.files.writeFile(at("dir/file"), bytes("x"));
      expect(await codeOf(sandbox.files.readFile(at("none")))).toBe("not_found");
      expect(await codeOf(sandbox.files.readFile(at("dir")))).toBe("is_directory");
      expect(await codeOf(sandbox.files.readFile(at("dir/file/below")))).toBe("not_directory");
      expect(await codeOf(sandbox.files.list(at("dir/file")))).toBe("not_directory");
      expect(await codeOf(sandbox.files.remove(at("dir"), { recursive: false }))).toBe("not_empty");
      expect(await codeOf(sandbox.files.mkdir(at("dir/file")))).not.toBe("ok");
      const missing = await sandbox.files.stat(at("none"));
      expect(missing.ok ? "" : missing.error.message).toContain(at("none"));
    });

    test("lists a directory by name and walks a tree in path order up to a limit", async () => {
      for (const path of ["b/2", "b/1", "a", "c/d/e"]) await sandbox.files.writeFile(at(path), bytes(path));
      const list = await sandbox.files.list(at("b"));
      expect(list.ok && list.value.map((entry) => entry.path)).toEqual([at("b/1"), at("b/2")]);
      const walked: string[] = [];
      for await (const entry of sandbox.files.walk(sandbox.root, 100)) walked.push(entry.path);
      expect(walked).toEqual(["a", "b", "b/1", "b/2", "c", "c/d", "c/d/e"].map(at));
      const few: string[] = [];
      for await (const entry of sandbox.files.walk(sandbox.root, 2)) few.push(entry.path);
      expect(few).toHaveLength(2);
    });

    test("follows links, shows them with lstat, and ends loops with an error", async () => {
      await run(
        sandbox,
        "mkdir real; echo hi > real/f; ln -s real link; ln -s ../real/f real/rel; ln -s b a; ln -s a b; ln -s no dang",
      );
      expect(await read(sandbox, at("link/rel"))).toBe("hi\n");
      const link = await sandbox.files.lstat(at("link"));
      expect(link.ok && link.value.kind).toBe("symlink");
      expect(await codeOf(sandbox.files.readFile(at("a")))).toBe("loop");
      expect(await codeOf(sandbox.files.stat(at("dang")))).toBe("not_found");
      expect(await sandbox.files.realPath(at("link/rel"))).toEqual({ ok: true, value: at("real/f") });
      expect(await sandbox.files.realPath(at("link/new/deep"))).toEqual({ ok: true, value: at("real/new/deep") });
      expect(await sandbox.files.realPath(at("dang"))).toEqual({ ok: true, value: at("no") });
    });

    test("removes a link, not what it points to", async () => {
      await run(sandbox, "mkdir real; echo hi > real/f; ln -s real link; ln -s gone dang");
      expect(await codeOf(sandbox.files.remove(at("link"), { recursive: true }))).toBe("ok");
      expect(await codeOf(sandbox.files.remove(at("dang"), { recursive: false }))).toBe("ok");
      expect(await read(sandbox, at("real/f"))).toBe("hi\n");
    });
  });
}
