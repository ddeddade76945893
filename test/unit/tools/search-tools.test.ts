import { beforeEach, describe, expect, it, vi } from "vitest";
import { createGlobTool } from "../../../src/tools/glob.ts";
import { createGrepTool } from "../../../src/tools/grep.ts";
import { errorOf, FakeWorld, textOf } from "./fake-sandbox.ts";

const [glob, grep] = [createGlobTool(), createGrepTool()];
let world: FakeWorld;
beforeEach(() => {
  world = new FakeWorld();
});
const find = async (input: object) => textOf(await world.run(glob, input)).split("\n");
const search = async (input: object) => textOf(await world.run(grep, input)).split("\n");

describe("Glob", () => {
  // spec: K-1
  it("lists matches newest first, dot files included", async () => {
    world.put("/workspace/a.ts", "", 1);
    world.put("/workspace/src/b.ts", "", 3);
    world.put("/workspace/.hidden/c.ts", "", 2);
    world.put("/workspace/d.md", "", 9);
    expect(await find({ pattern: "**/*.ts" })).toEqual([
      "/workspace/src/b.ts",
      "/workspace/.hidden/c.ts",
      "/workspace/a.ts",
    ]);
    expect(await find({ pattern: "*.ts" })).toEqual(["/workspace/a.ts"]);
    expect(await find({ pattern: "*.{ts,md}", path: "src" })).toEqual(["/workspace/src/b.ts"]);
  });

  it("leaves out .git and node_modules unless the pattern names them", async () => {
    world.put("/workspace/.git/x.ts", "");
    world.put("/workspace/p/node_modules/y.ts", "");
    expect(await find({ pattern: "**/*.ts" })).toEqual(["No file matches **/*.ts in /workspace."]);
    expect(await find({ pattern: "**/node_modules/*.ts" })).toEqual(["/workspace/p/node_modules/y.ts"]);
  });

  it("shows 1,000 paths at most and says so", async () => {
    for (let i = 0; i < 1_001; i++) world.put(`/workspace/f${i}`, "", i);
    const lines = await find({ pattern: "*" });
    expect(lines).toHaveLength(1_001);
    expect(lines[0]).toBe("/workspace/f1000");
    expect(lines.at(-1)).toContain("the newest 1000 of 1001");
  });

  // spec: S-1
  it("refuses patterns that lead elsewhere or could take for ever", async () => {
    for (const pattern of ["/etc/*", "../*", "a/../../b", "*a*a*a*a*a*a", "**/**/**/**/x", "x".repeat(501)]) {
      expect(errorOf(await world.run(glob, { pattern }))).toContain("glob pattern");
    }
    world.put("/workspace/a", "");
    expect(errorOf(await world.run(glob, { pattern: "*", path: "a" }))).toContain("not a directory");
    expect(errorOf(await world.run(glob, { pattern: "*", path: "none" }))).toContain("no such file");
  });
});

describe("Grep", () => {
  beforeEach(() => {
    world.put("/workspace/a.ts", "one\ntwo\nthree\nfour\nfive\nTwo\n");
    world.put("/workspace/sub/b.md", "two\r\n");
    world.put("/workspace/c.bin", new Uint8Array([116, 119, 111, 0]));
  });

  // spec: K-1
  it("shows the files, skipping binary ones", async () => {
    expect(await search({ pattern: "two" })).toEqual(["/workspace/a.ts", "/workspace/sub/b.md"]);
    expect(await search({ pattern: "two", glob: "*.md" })).toEqual(["/workspace/sub/b.md"]);
    expect(await search({ pattern: "two", path: "sub/b.md" })).toEqual(["/workspace/sub/b.md"]);
    expect(await search({ pattern: "zzz" })).toEqual(["Nothing matches zzz in /workspace."]);
  });

  it("counts matching lines, ignoring case on demand", async () => {
    expect(await search({ pattern: "two", output_mode: "count", "-i": true, glob: "*.ts" })).toEqual([
      "/workspace/a.ts:2",
    ]);
  });

  it("shows lines with numbers and context in blocks", async () => {
    const input = { pattern: "two|three|Two", output_mode: "content", path: "a.ts" };
    expect(await search(input)).toEqual(["/workspace/a.ts:2:two", "/workspace/a.ts:3:three", "/workspace/a.ts:6:Two"]);
    expect(await search({ ...input, "-n": false, "-A": 1, "-B": 0 })).toEqual([
      "/workspace/a.ts:two",
      "/workspace/a.ts:three",
      "/workspace/a.ts-four",
      "--",
      "/workspace/a.ts:Two",
    ]);
    expect(await search({ pattern: "one|five", output_mode: "content", path: "a.ts", "-C": 1 })).toEqual([
      "/workspace/a.ts:1:one",
      "/workspace/a.ts-2-two",
      "--",
      "/workspace/a.ts-4-four",
      "/workspace/a.ts:5:five",
      "/workspace/a.ts-6-Two",
    ]);
  });

  it("matches over lines with multiline", async () => {
    const input = { pattern: "two.three", path: "a.ts", output_mode: "content" };
    expect(await search(input)).toEqual(["Nothing matches two.three in /workspace/a.ts."]);
    expect(await search({ ...input, multiline: true })).toEqual(["/workspace/a.ts:2:two", "/workspace/a.ts:3:three"]);
  });

  it("stops at head_limit and says so", async () => {
    const lines = await search({ pattern: ".", output_mode: "content", head_limit: 2 });
    expect(lines).toHaveLength(3);
    expect(lines[2]).toContain("the first 2 results");
  });

  it("does not follow links and passes over large files", async () => {
    world.put("/etc/secret", "two");
    world.link("/workspace/sub/link", "/etc/secret");
    world.put("/workspace/sub/large", new Uint8Array(10 * 1024 * 1024 + 1).fill(116));
    expect(await search({ pattern: "two", path: "sub" })).toEqual([
      "/workspace/sub/b.md",
      "(1 files were skipped: too large or not readable)",
    ]);
  });

  // spec: S-1
  it("leaves out files that Read would be asked for, and says so", async () => {
    world.put("/workspace/.env", "two=1");
    world.put("/workspace/.env.example", "two=");
    const left = "(1 file that needs permission was left out: .env; to search one, give it as path)";
    for (const output_mode of ["content", "files_with_matches", "count"]) {
      const lines = await search({ pattern: "two", output_mode, multiline: output_mode === "count" });
      expect(lines.filter((line) => line.startsWith("/workspace/.env:") || line === "/workspace/.env")).toEqual([]);
      expect(lines.at(-1)).toBe(left);
    }
    expect(await search({ pattern: "two", glob: ".env*" })).toEqual(["/workspace/.env.example", left]);
    expect(await search({ pattern: "two", glob: "*.md" })).toEqual(["/workspace/sub/b.md"]);
    for (const name of ["a.pem", ".ssh/config", "x/.NPMRC", "x/y/secrets.json", ".netrc"])
      world.put(`/workspace/${name}`, "");
    const note = (await search({ pattern: "two" })).at(-1);
    expect(note).toMatch(/^\(6 files that need permission were left out: (\S+, ){5}…; /);
    expect((await search({ pattern: "two", path: "x" })).at(-1)).toContain("out: .NPMRC, y/secrets.json;");
  });

  it("searches such a file, or a folder of them, when the call names it", async () => {
    world.put("/workspace/.env", "two=1");
    world.put("/workspace/.ssh/config", "two");
    expect(await search({ pattern: "two", path: ".env", output_mode: "content" })).toEqual(["/workspace/.env:1:two=1"]);
    expect(await search({ pattern: "two", path: ".ssh" })).toEqual(["/workspace/.ssh/config"]);
  });

  // spec: S-1
  it("leaves them out of a linked folder too, by what the link leads to", async () => {
    for (const name of [".git/config", ".docker/config.json", ".netrc", ".git/notes"])
      world.put(`/workspace/${name}`, "two");
    world.link("/workspace/g", "/workspace/.git");
    world.link("/workspace/d", "/workspace/.docker");
    world.link("/workspace/w", "/workspace");
    world.link("/workspace/k", "/workspace/.ssh");
    world.put("/workspace/.ssh/config", "two");
    const left = (names: string) => expect.stringContaining(`left out: ${names}; to search one`);
    expect(await search({ pattern: "two", path: "g" })).toEqual(["/workspace/g/notes", left("config")]);
    expect(await search({ pattern: "two", path: "d" })).toEqual([
      expect.stringContaining("Nothing"),
      left("config.json"),
    ]);
    expect(await search({ pattern: "two", path: "w", glob: ".netrc" })).toEqual([
      expect.stringContaining("Nothing"),
      left(".netrc"),
    ]);
    // The check of the call has asked about the folder that this link leads to.
    expect(await search({ pattern: "two", path: "k" })).toEqual(["/workspace/k/config"]);
  });

  it("judges names below the searched folder when that lies outside the workspace", async () => {
    world.put("/data/.kube/x", "two");
    world.put("/data/.netrc", "two");
    expect(await search({ pattern: "two", path: "/data" })).toEqual([
      "Nothing matches two in /data.",
      "(2 files that need permission were left out: .kube/x, .netrc; to search one, give it as path)",
    ]);
  });

  // spec: S-1
  it("refuses what is invalid or could take for ever", async () => {
    for (const pattern of [
      "(",
      "(a+)+$",
      "(a|a)*b",
      "((a*)b)*",
      "(x{2,})+",
      "(a)\\1+",
      `${"a?".repeat(30)}b`,
      "((a|b){1,9}){1,9}",
      ".*.*.*.*.*x",
      "a".repeat(1_001),
    ]) {
      expect(errorOf(await world.run(grep, { pattern }))).toContain("the pattern");
    }
  });

  // spec: S-1
  it("ends soon on the worst line for each number of repeats", async () => {
    world.put("/workspace/worst", "a".repeat(20_000));
    for (const pattern of ["a*b", "a*a*b", "a*a*a*b", "a*a*a*a*b"]) {
      expect(await search({ pattern, path: "worst" })).toEqual([
        `Nothing matches ${pattern} in /workspace/worst.`,
        "(1 long lines were searched in their first part only)",
      ]);
    }
    expect(errorOf(await world.run(grep, { pattern: "a*.*b", multiline: true }))).toContain("one unbounded repeat");
  }, 30_000);

  it("stops after ten seconds and says so", async () => {
    world.put("/workspace/many", `${"a".repeat(2_000)}\n`.repeat(50));
    let clock = 0;
    vi.spyOn(Date, "now").mockImplementation(() => (clock += 4_000));
    const lines = await search({ pattern: "a*a*b", path: "many" });
    vi.restoreAllMocks();
    expect(lines.at(-1)).toContain("stopped: the pattern takes too long here");
  });

  it("takes ordinary patterns", async () => {
    for (const pattern of [
      "(?:foo|bar)?\\s+\\w+",
      "[(+*]+",
      "\\(a+\\)+",
      "(?<n>a|b){1,3}",
      "import .* from ['\"].*['\"]",
      "x{",
      "(\\d{1,3}\\.){3}\\d{1,3}",
      "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p",
    ]) {
      expect([pattern, (await world.run(grep, { pattern })).isError]).toEqual([pattern, false]);
    }
  });

  it("ends between files when it is aborted", async () => {
    const running = world.run(grep, { pattern: "two" });
    world.controller.abort(new Error("stop"));
    await expect(running).rejects.toThrow("stop");
  });
});
