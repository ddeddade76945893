import { beforeEach, describe, expect, test } from "vitest";
import type { Sandbox } from "../../../../src/contract/sandbox.ts";
import type { Differences, MakeSandbox } from "./contract.ts";
import { bytes, codeOf, read, run } from "./shell.ts";

const TEN_MB = 10_000_000;

/** The harder half of the contract: large, odd, parallel and full. spec */
export function describeSandboxUse(name: string, make: MakeSandbox, differences: Differences): void {
  describe(`the ${name} sandbox in use`, () => {
    let sandbox: Sandbox;
    const at = (path: string) => `${sandbox.root}/${path}`;
    beforeEach(async () => {
      sandbox = await make();
    });

    const LOOP = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done";

    test("keeps the order of each stream", async () => {
      const ran = await run(sandbox, LOOP);
      expect(ran.stdout).toBe("out1\nout2\nout3\nout4\nout5\n");
      expect(ran.stderr).toBe("err1\nerr2\nerr3\nerr4\nerr5\n");
    });

    test.skipIf(differences.joinsStreamsAtTheEnd)("keeps the order of both streams when they are one", async () => {
      const one = await run(sandbox, `(${LOOP}) 2>&1`);
      expect(one.stdout).toBe("out1\nerr1\nout2\nerr2\nout3\nerr3\nout4\nerr4\nout5\nerr5\n");
    });

    test("closes standard input when none is given", async () => {
      expect(await run(sandbox, "cat; echo end")).toMatchObject({ stdout: "end\n", timedOut: false });
      expect(await run(sandbox, "cat; echo end", { stdin: "" })).toMatchObject({ stdout: "end\n", timedOut: false });
    });

    test("gives output that is no text byte for byte", async () => {
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      await sandbox.files.writeFile(at("all.bin"), all);
      expect(await outputOf(sandbox, "cat all.bin all.bin")).toEqual(Uint8Array.from([...all, ...all]));
    });

    test("carries unicode in commands, names, input and output", async () => {
      const ran = await run(sandbox, "printf 'héllo 日本 🙂\\n' > 'fil é 🙂.txt'; cat *; cat", { stdin: "größe ✓" });
      expect(ran.stdout).toBe("héllo 日本 🙂\ngröße ✓");
      expect(await read(sandbox, at("fil é 🙂.txt"))).toBe("héllo 日本 🙂\n");
      await sandbox.files.writeFile(at("100% #1?.txt"), bytes("odd"));
      expect((await run(sandbox, "cat '100% #1?.txt'")).stdout).toBe("odd");
      const list = await sandbox.files.list(sandbox.root);
      expect(list.ok && list.value.map((entry) => entry.path)).toEqual([at("100% #1?.txt"), at("fil é 🙂.txt")]);
    });

    test("carries a file and an output of 10 MB", async () => {
      const big = new Uint8Array(TEN_MB).fill(120);
      for (let line = 99; line < TEN_MB; line += 100) big[line] = 10;
      expect(await codeOf(sandbox.files.writeFile(at("big"), big))).toBe("ok");
      const back = await sandbox.files.readFile(at("big"));
      expect(back.ok && Buffer.compare(back.value, big)).toBe(0);
      expect(Buffer.compare(await outputOf(sandbox, "cat big"), big)).toBe(0);
    });

    test("takes a command line of 300 KB", async () => {
      const text = `${"x".repeat(99)}\n`.repeat(3_000);
      await run(sandbox, `cat > long.txt <<'EOF'\n${text}EOF`);
      expect(await read(sandbox, at("long.txt"))).toBe(text);
    });

    test.skipIf(differences.losesOutputAtDeadline)("keeps what a command said before its deadline", async () => {
      const ran = await run(sandbox, "echo before; sleep 30; echo after", { timeoutMs: 500 });
      expect(ran).toMatchObject({ stdout: "before\n", exitCode: 124, timedOut: true });
    });

    test("goes on working after a deadline", async () => {
      expect((await run(sandbox, "sleep 30; echo after", { timeoutMs: 500 })).stdout).toBe("");
      expect(await run(sandbox, "echo again")).toMatchObject({ stdout: "again\n", exitCode: 0 });
    });

    test("goes on working after a command was cancelled", async () => {
      const abort = new AbortController();
      const running = run(sandbox, "sleep 30", {}, abort.signal);
      abort.abort(new Error("stop"));
      await expect(running).rejects.toThrow("stop");
      expect(await run(sandbox, "echo again")).toMatchObject({ stdout: "again\n", exitCode: 0 });
    });

    test("runs commands and file calls side by side without mixing them", async () => {
      const commands = [1, 2, 3, 4, 5, 6].map((i) => run(sandbox, `echo ${i} > f${i}; sleep 0.05; cat f${i}; pwd`));
      const writes = [1, 2, 3, 4, 5, 6].map((i) => sandbox.files.writeFile(at(`g${i}`), bytes(`g${i}`)));
      expect((await Promise.all(commands)).map((ran) => ran.stdout)).toEqual(
        [1, 2, 3, 4, 5, 6].map((i) => `${i}\n${sandbox.root}\n`),
      );
      expect((await Promise.all(writes)).every((answer) => answer.ok)).toBe(true);
      expect((await run(sandbox, "cat g1 g6")).stdout).toBe("g1g6");
    });

    test("keeps files, also those in /tmp, but no variables from command to command", async () => {
      await run(sandbox, "echo kept > /tmp/kept; echo kept > kept; export GONE=1; GONE2=1");
      expect((await run(sandbox, "cat /tmp/kept kept; echo [$GONE$GONE2]")).stdout).toBe("kept\nkept\n[]\n");
      expect(await read(sandbox, "/tmp/kept")).toBe("kept\n");
    });

    test("passes secrets in the environment unchanged", async () => {
      const secret = "a'b\"c $(id) `id` \\n %s\nsecond line ü";
      expect((await run(sandbox, 'printf %s "$KEY_1"', { env: { KEY_1: secret } })).stdout).toBe(secret);
      expect((await run(sandbox, "env; set")).stdout).not.toContain("second line");
    });

    test("holds 1,000 files", async () => {
      const names = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(4, "0"));
      for (let first = 0; first < names.length; first += 50) {
        const some = names.slice(first, first + 50);
        const wrote = await Promise.all(some.map((each) => sandbox.files.writeFile(at(`many/${each}`), bytes(each))));
        expect(wrote.every((answer) => answer.ok)).toBe(true);
      }
      const list = await sandbox.files.list(at("many"));
      expect(list.ok && list.value.map((entry) => entry.path)).toEqual(names.map((each) => at(`many/${each}`)));
      const walked: string[] = [];
      for await (const entry of sandbox.files.walk(sandbox.root, 10_000)) walked.push(entry.path);
      expect(walked).toHaveLength(1_001);
      expect((await run(sandbox, "ls many | wc -l; cat many/0999; rm -r many; ls")).stdout).toMatch(/^\s*1000\n0999$/);
    });

    test("names a missing file and a missing program", async () => {
      const none = await run(sandbox, "cat none");
      expect(none.exitCode).toBe(1);
      expect(none.stderr).toMatch(/none: No such file or directory/i);
      const program = await run(sandbox, "no-such-program");
      expect(program.exitCode).toBe(127);
      expect(program.stderr).toContain("no-such-program: command not found");
      expect((await run(sandbox, "if then")).exitCode).toBe(2);
      expect(await codeOf(sandbox.files.list(at("none")))).toBe("not_found");
      expect(await codeOf(sandbox.files.lstat(at("none")))).toBe("not_found");
      expect(await codeOf(sandbox.files.remove(at("none"), { recursive: false }))).toBe("not_found");
      expect(await codeOf(sandbox.files.readFile("relative"))).toBe("invalid");
      expect(await codeOf(sandbox.files.readFile(at("nul\0")))).toBe("invalid");
    });

    describe("files and folders", () => describeFiles(() => sandbox));
    describe("a full workspace", () => describeFull(make));
  });
}

function describeFiles(current: () => Sandbox): void {
  const at = (path: string) => `${current().root}/${path}`;
  const modeOf = async (path: string) => {
    const stat = await current().files.stat(at(path));
    return stat.ok ? stat.value.mode & 0o777 : 0;
  };

  test("renames files, folders and links, over what was there", async () => {
    const sandbox = current();
    await run(sandbox, "echo 1 > one; echo 2 > two; mkdir -p d/e; echo 3 > d/e/f; ln -s one l");
    const ran = await run(sandbox, "mv one two && mv d moved && mv l link && ls");
    expect(ran).toMatchObject({ stdout: "link\nmoved\ntwo\n", exitCode: 0 });
    expect(await read(sandbox, at("two"))).toBe("1\n");
    expect(await read(sandbox, at("moved/e/f"))).toBe("3\n");
    const link = await sandbox.files.lstat(at("link"));
    expect(link.ok && link.value.kind).toBe("symlink");
    expect(await codeOf(sandbox.files.readFile(at("one")))).toBe("not_found");
  });

  test("shows modes, keeps them over a write, and runs only what may be run", async () => {
    const sandbox = current();
    await sandbox.files.writeFile(at("say.sh"), bytes("#!/bin/bash\necho said $1\n"));
    expect((await modeOf("say.sh")) & 0o111).toBe(0);
    expect((await run(sandbox, "./say.sh it")).exitCode).toBe(126);
    expect(await run(sandbox, "chmod +x say.sh; ./say.sh it")).toMatchObject({ stdout: "said it\n", exitCode: 0 });
    await sandbox.files.writeFile(at("say.sh"), bytes("#!/bin/bash\necho now $1\n"));
    expect(await modeOf("say.sh")).toBe(0o755);
    expect((await run(sandbox, "./say.sh it")).stdout).toBe("now it\n");
    await run(sandbox, "chmod 640 say.sh");
    expect(await modeOf("say.sh")).toBe(0o640);
  });

  test("tells kind and size, and a time that moves with a write", async () => {
    const sandbox = current();
    await sandbox.files.writeFile(at("f"), bytes("12345"));
    const stat = await sandbox.files.stat(at("f"));
    expect(stat.ok && stat.value).toMatchObject({ path: at("f"), kind: "file", size: 5 });
    expect(stat.ok && stat.value.mtimeMs).toBeGreaterThan(1_500_000_000_000);
    await run(sandbox, "touch -d '2001-01-01 00:00:00 UTC' f");
    const old = await sandbox.files.stat(at("f"));
    expect(old.ok && old.value.mtimeMs).toBe(978_307_200_000);
    const folder = await sandbox.files.stat(sandbox.root);
    expect(folder.ok && folder.value).toMatchObject({ path: sandbox.root, kind: "directory" });
  });

  test("goes up from where a link leads", async () => {
    const sandbox = current();
    await run(sandbox, "mkdir -p deep/real; echo deep > deep/f; echo top > f; ln -s deep/real link; ln -s f lf");
    expect(await read(sandbox, at("link/../f"))).toBe("deep\n");
    expect(await read(sandbox, at("./deep//real/./../../f"))).toBe("top\n");
    expect(await sandbox.files.realPath(at("link/.."))).toEqual({ ok: true, value: at("deep") });
    expect(await codeOf(sandbox.files.remove(at("deep/../lf"), { recursive: false }))).toBe("ok");
    expect(await read(sandbox, at("f"))).toBe("top\n");
  });

  test("writes through a link, and into the folder a link names", async () => {
    const sandbox = current();
    await run(sandbox, "mkdir real; echo old > real/f; ln -s real link; ln -s real/f lf; ln -s real/new dangling");
    await sandbox.files.writeFile(at("lf"), bytes("new"));
    await sandbox.files.writeFile(at("link/g"), bytes("g"));
    await sandbox.files.writeFile(at("dangling"), bytes("made"));
    expect((await run(sandbox, "cat real/f real/g real/new; readlink lf")).stdout).toBe("newgmadereal/f\n");
  });

  test("makes folders with their parents and removes trees", async () => {
    const sandbox = current();
    expect(await codeOf(sandbox.files.mkdir(at("a/b/c")))).toBe("ok");
    expect(await codeOf(sandbox.files.mkdir(at("a/b")))).toBe("ok");
    await sandbox.files.writeFile(at("a/b/f"), bytes("x"));
    expect(await codeOf(sandbox.files.writeFile(at("a/b"), bytes("x")))).toBe("is_directory");
    expect(await codeOf(sandbox.files.writeFile(at("a/b/f/g"), bytes("x")))).toBe("not_directory");
    expect(await codeOf(sandbox.files.remove(at("a"), { recursive: true }))).toBe("ok");
    expect((await run(sandbox, "ls -A")).stdout).toBe("");
  });
}

function describeFull(make: MakeSandbox): void {
  const MIB = 1 << 20;

  test("refuses a file that does not fit, keeps the rest, and takes it when there is room", async () => {
    const sandbox = await make({ maxBytes: MIB });
    const at = (path: string) => `${sandbox.root}/${path}`;
    const half = new Uint8Array(600_000).fill(97);
    expect(await codeOf(sandbox.files.writeFile(at("one"), half))).toBe("ok");
    expect(await codeOf(sandbox.files.writeFile(at("two"), half))).toBe("no_space");
    const one = await sandbox.files.readFile(at("one"));
    expect(one.ok && one.value.length).toBe(600_000);
    await sandbox.files.remove(at("one"), { recursive: false });
    expect(await codeOf(sandbox.files.writeFile(at("two"), half))).toBe("ok");
  });

  test("fails a command that fills it, and lets the next one make room", async () => {
    const sandbox = await make({ maxBytes: MIB });
    const at = (path: string) => `${sandbox.root}/${path}`;
    await sandbox.files.writeFile(at("one"), new Uint8Array(600_000).fill(97));
    const filling = await run(sandbox, "for i in 1 2 3 4 5 6; do cat one > copy$i || exit; done");
    expect(filling.exitCode).not.toBe(0);
    expect(filling.stderr).not.toBe("");
    expect(await codeOf(sandbox.files.writeFile(at("more"), new Uint8Array(600_000)))).toBe("no_space");
    expect((await run(sandbox, "rm -f copy*; ls")).stdout).toBe("one\n");
    expect(await codeOf(sandbox.files.writeFile(at("more"), new Uint8Array(300_000)))).toBe("ok");
  });
}

async function outputOf(sandbox: Sandbox, command: string): Promise<Uint8Array> {
  const request = { command, cwd: sandbox.root, env: {}, timeoutMs: 20_000 };
  const pieces: Uint8Array[] = [];
  for await (const event of sandbox.exec(request, new AbortController().signal)) {
    if (event.type === "stdout") pieces.push(event.data);
  }
  return new Uint8Array(Buffer.concat(pieces));
}
