import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classifyCommand, judgeCommand } from "../../../src/permission/bash/classify.ts";
import { ASKING, DENIED, HARMLESS } from "./bash-commands.ts";

const context = { workspace: "/workspace", cwd: "/workspace", home: "/home/user" };
const rate = (command: string) => classifyCommand(command, context);

/** Pieces that put an accepted command next to something that acts. */
const dynamic = fc.constantFrom(
  "$(touch x)",
  "`touch x`",
  "<(touch x)",
  '"$(touch x)"',
  "$((a[$(touch x)]))",
  "${x@P}",
  "${x:=$(touch x)}",
  "$UNKNOWN",
  "*(x)",
  "${!x}",
);
const accepted = fc.constantFrom(...HARMLESS.filter((command) => !/<<|#|\n/.test(command)));

describe("the bash class", () => {
  // spec: S-1
  it("lets everyday reading pass", () => {
    expect(HARMLESS.map((command) => [command, rate(command).verdict])).toEqual(
      HARMLESS.map((command) => [command, "readonly"]),
    );
  });

  it("never lets what acts pass", () => {
    expect(ASKING.filter((command) => rate(command).verdict === "readonly")).toEqual([]);
  });

  it("refuses what nobody should be asked about", () => {
    expect(DENIED.filter((command) => rate(command).verdict !== "deny")).toEqual([]);
  });

  it("never calls an accepted command joined with anything dynamic read-only", () => {
    const join = fc.constantFrom(" ", "; echo ", " && ls ", " | grep ", " || cat ", "\necho ");
    fc.assert(
      fc.property(accepted, join, dynamic, (command, glue, part) => {
        expect(rate(`${command}${glue}${part}`).verdict).not.toBe("readonly");
      }),
      { numRuns: 300 },
    );
  });

  it("never calls an accepted command read-only once a writing one stands anywhere beside it", () => {
    const frame = fc.constantFrom(
      (a: string, b: string) => `${a}; ${b}`,
      (a: string, b: string) => `${b} | ${a}`,
      (a: string, b: string) => `${a} && { ${b}; }`,
      (a: string, b: string) => `(${b}) || ${a}`,
      (a: string, b: string) => `if ${a}; then ${b}; fi`,
      (a: string, b: string) => `while ${b}; do ${a}; done`,
      (a: string, b: string) => `echo "$(${a}; ${b})"`,
      (a: string, b: string) => `case x in x) ${a};; *) ${b};; esac`,
      (a: string, b: string) => `bash -c '${b}'; ${a.replaceAll("'", "")}`,
    );
    const writing = fc.constantFrom(
      "touch x",
      "rm -f x",
      "ls > out",
      "tee x",
      "X=1 ls",
      "npm install",
      "./run",
      "git push",
    );
    fc.assert(
      fc.property(accepted, writing, frame, (command, act, build) => {
        expect(rate(build(command, act)).verdict).not.toBe("readonly");
      }),
      { numRuns: 300 },
    );
  });

  it("never throws, whatever the text", () => {
    const piece = fc.constantFrom(
      "$(",
      "`",
      "${",
      "((",
      "))",
      "[[",
      "]]",
      "<<E\n",
      "'",
      '"',
      "\\",
      "|",
      "&",
      ";",
      "ls",
      "{a,b}",
      ")",
      "}",
      "case",
      "$'",
      "~",
      "=",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(["readonly", "ask", "deny"]).toContain(rate(pieces.join(" ")).verdict);
        expect(["readonly", "ask", "deny"]).toContain(rate(pieces.join("")).verdict);
      }),
      { numRuns: 500 },
    );
  });

  it("settles hostile texts by asking", () => {
    const texts = [
      "$(".repeat(5000),
      "ls;".repeat(10_000),
      "nice ".repeat(6000),
      "(".repeat(2000),
      "echo ".concat("{a,b}".repeat(300)),
      `cat .${"*e".repeat(500)}`,
      `rm -r ${"*".repeat(30_000)}a`,
      `find . ${"-exec grep {} ; ".repeat(1500)}`,
      "cd a;".repeat(5000),
      `sed '${"s/a/b/;".repeat(3000)}' f`,
      "if ls; then ".repeat(1000),
    ];
    for (const text of texts)
      expect([text.slice(0, 20), rate(text).verdict === "readonly"]).toEqual([text.slice(0, 20), false]);
  });

  it("bounds what takes long, and still refuses what stands within the bounds", () => {
    const reason = (text: string) => (rate(text).verdict === "readonly" ? "readonly" : rate(text).reason);
    expect(reason(`cat${" <f".repeat(200)}`)).toBe("readonly");
    for (const text of [`cat${" <f".repeat(201)}`, `cat${" <f".repeat(2000)}`, `${"TZ=UTC ".repeat(201)}ls`])
      expect(reason(text)).toBe("too many redirections or assignments to judge");
    expect(rate(`echo x >/etc/passwd${" >f".repeat(1000)}`).verdict).toBe("deny");
    expect(reason(`cat ${"<<E ".repeat(1001)}`)).toBe("too many here-documents to judge");
    const long = (depth: number) => `echo ${"$(echo ".repeat(depth)}x${")".repeat(depth)} '${"y".repeat(30_000)}'`;
    expect(reason(long(8))).toBe("readonly");
    expect(reason(long(20))).toBe("the command is nested too deeply");
  });

  it("follows the folder a chain has changed to", () => {
    expect(rate("cd src && cat ../a").verdict).toBe("readonly");
    expect(rate("cd src && cat ../../a").verdict).toBe("ask");
    expect(rate("cd src || cat ../a").verdict).toBe("ask");
    expect(classifyCommand("cat ../a", { ...context, cwd: "/workspace/src" }).verdict).toBe("readonly");
    expect(classifyCommand("ls", { ...context, cwd: "/tmp" }).verdict).toBe("ask");
    expect(classifyCommand("cat /memory/a", { ...context, allowDirs: ["/memory"] }).verdict).toBe("readonly");
  });

  it("names the files it reads and the calls it makes", () => {
    const judged = judgeCommand("cd src && cat a.ts | grep x ../b.ts", context);
    expect([...judged.reads].sort()).toEqual(["/workspace/b.ts", "/workspace/src", "/workspace/src/a.ts"]);
    expect(judged.argvs.map((argv) => argv.map((arg) => arg.texts[0]))).toEqual([
      ["cd", "src"],
      ["cat", "a.ts"],
      ["grep", "x", "../b.ts"],
    ]);
  });
});
