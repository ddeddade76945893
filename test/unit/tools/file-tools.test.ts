import { beforeEach, describe, expect, it } from "vitest";
import { createEditTool } from "../../../src/tools/edit.ts";
import { createReadTool } from "../../../src/tools/read.ts";
import { createWriteTool } from "../../../src/tools/write.ts";
import { errorOf, FakeWorld, textOf } from "./fake-sandbox.ts";

const [read, write, edit] = [createReadTool(), createWriteTool(), createEditTool()];
let world: FakeWorld;
beforeEach(() => {
  world = new FakeWorld();
});

describe("Read", () => {
  // spec: K-2
  it("numbers lines as cat -n does and drops carriage returns", async () => {
    world.put("/workspace/a.txt", "one\r\n\ntwo\n");
    expect(textOf(await world.run(read, { file_path: "a.txt" }))).toBe("     1\tone\n     2\t\n     3\ttwo");
  });

  // spec: K-2
  it("pages with offset and limit and says where to read on", async () => {
    world.put("/workspace/a.txt", "a\nb\nc\nd\n");
    const page = textOf(await world.run(read, { file_path: "./x/../a.txt", offset: 2, limit: 2 }));
    expect(page).toBe("     2\tb\n     3\tc\n(lines 2 to 3 of 4; read on with offset 4)");
    expect(errorOf(await world.run(read, { file_path: "a.txt", offset: 5 }))).toContain("has 4 lines");
  });

  // spec: K-2
  it("shows 2,000 lines at most and cuts long ones", async () => {
    world.put("/workspace/a.txt", `${"x".repeat(2_500)}\n${"y\n".repeat(2_500)}`);
    const lines = textOf(await world.run(read, { file_path: "a.txt" })).split("\n");
    expect(lines).toHaveLength(2_001);
    expect(lines[0]).toMatch(/x \(line cut: 500 more characters\)$/);
    expect(lines.at(-1)).toContain("lines 1 to 2000 of 2501");
  });

  it("shows images by their first bytes, whatever the name", async () => {
    world.put("/workspace/p.txt", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1, 2, 3, 4]));
    const outcome = await world.run(read, { file_path: "p.txt" });
    expect(outcome.content).toEqual([{ type: "image", media_type: "image/png", data: "iVBORw0KGgoAAQIDBA==" }]);
    const big = new Uint8Array(5 * 1024 * 1024 + 1);
    big.set([0xff, 0xd8, 0xff]);
    world.put("/workspace/big.jpg", big);
    expect(errorOf(await world.run(read, { file_path: "big.jpg" }))).toContain("5 MB");
  });

  it("refuses directories, missing files, other binaries and huge files", async () => {
    world.put("/workspace/d/a.bin", new Uint8Array([1, 0, 2]));
    world.put("/workspace/huge", new Uint8Array(10 * 1024 * 1024 + 1));
    expect(errorOf(await world.run(read, { file_path: "d" }))).toContain("is a directory");
    expect(errorOf(await world.run(read, { file_path: "none" }))).toContain("no such file");
    expect(errorOf(await world.run(read, { file_path: "d/a.bin" }))).toContain("binary");
    expect(errorOf(await world.run(read, { file_path: "huge" }))).toContain("10 MB");
  });

  it("notes that a file is empty and counts it as seen", async () => {
    world.put("/workspace/e", "");
    const outcome = await world.run(read, { file_path: "e" });
    expect(textOf(outcome)).toContain("is empty");
    expect(outcome.facts).toEqual([
      {
        kind: "file_seen",
        path: "/workspace/e",
        digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      },
    ]);
  });
});

describe("Write", () => {
  // spec: K-2
  it("creates a new file and may write it again without reading it", async () => {
    expect(textOf(await world.run(write, { file_path: "new/a.txt", content: "é" }))).toContain("Created");
    expect(textOf(await world.run(write, { file_path: "new/a.txt", content: "b" }))).toContain("Replaced");
    expect(world.text("/workspace/new/a.txt")).toBe("b");
  });

  // spec: K-2
  it("refuses to replace a file that was not read or has changed since", async () => {
    world.put("/workspace/a", "old");
    expect(errorOf(await world.run(write, { file_path: "a", content: "x" }))).toContain("has not been read");
    await world.run(read, { file_path: "a" });
    world.put("/workspace/a", "other");
    expect(errorOf(await world.run(write, { file_path: "a", content: "x" }))).toContain("changed since");
    expect(world.text("/workspace/a")).toBe("other");
    await world.run(read, { file_path: "a" });
    expect((await world.run(write, { file_path: "a", content: "x" })).isError).toBe(false);
  });

  // spec: K-2
  it("knows a file by its real path, whichever link led to it", async () => {
    world.put("/workspace/a", "old");
    world.link("/workspace/l", "/workspace/a");
    await world.run(read, { file_path: "l" });
    expect((await world.run(write, { file_path: "/workspace/a", content: "x" })).isError).toBe(false);
  });

  it("refuses a directory", async () => {
    world.put("/workspace/d/a", "x");
    expect(errorOf(await world.run(write, { file_path: "d", content: "" }))).toContain("directory");
    expect(errorOf(await world.run(write, { file_path: "q/", content: "" }))).toContain("directory");
  });

  it("writes nothing after an abort", async () => {
    world.controller.abort(new Error("stop"));
    await expect(world.run(write, { file_path: "n", content: "" })).rejects.toThrow("stop");
    expect(world.nodes.size).toBe(0);
  });
});

describe("Edit", () => {
  const change = async (content: string, old_string: string, new_string: string, more = {}) => {
    world.put("/workspace/a", content);
    await world.run(read, { file_path: "a" });
    return world.run(edit, { file_path: "a", old_string, new_string, ...more });
  };

  // spec: K-2
  it("replaces a unique text literally and may go on without reading again", async () => {
    expect(textOf(await change("a\nb$\nc", "b$", "$&$1$$"))).toBe("Edited /workspace/a at line 2.");
    expect(world.text("/workspace/a")).toBe("a\n$&$1$$\nc");
    expect((await world.run(edit, { file_path: "a", old_string: "c", new_string: "" })).isError).toBe(false);
    expect(world.text("/workspace/a")).toBe("a\n$&$1$$\n");
  });

  // spec: K-2
  it("refuses a text that stands more than once, overlaps counted", async () => {
    expect(errorOf(await change("x x x", "x", "y"))).toContain("3 times");
    expect(errorOf(await change("aaa", "aa", "b"))).toContain("more than once");
    expect(world.text("/workspace/a")).toBe("aaa");
  });

  // spec: K-2
  it("replaces every place with replace_all", async () => {
    expect(textOf(await change("x.x.x", "x", "$&", { replace_all: true }))).toContain("in 3 places");
    expect(world.text("/workspace/a")).toBe("$&.$&.$&");
  });

  it("refuses an absent, an empty and an unchanged text", async () => {
    expect(errorOf(await change("abc", "q", "y"))).toContain("not found");
    expect(errorOf(await change("abc", "", "y"))).toContain("empty");
    expect(errorOf(await change("abc", "a", "a"))).toContain("the same");
  });

  // spec: K-2
  it("keeps CRLF endings of a file", async () => {
    await change("a\r\nb\r\nc\r\n", "a\nb", "a\nx\ny");
    expect(world.text("/workspace/a")).toBe("a\r\nx\r\ny\r\nc\r\n");
  });

  it("finds both kinds of endings in a mixed file", async () => {
    await change("a\r\nb\nc\n", "a\nb", "x\ny");
    expect(world.text("/workspace/a")).toBe("x\r\ny\nc\n");
    await change("a\r\nb\nc\n", "b\nc", "x\ny");
    expect(world.text("/workspace/a")).toBe("a\r\nx\ny\n");
  });

  it("keeps a byte order mark", async () => {
    await change("\ufeffabc", "b", "x");
    expect(world.text("/workspace/a")).toBe("\ufeffaxc");
  });

  // spec: K-2
  it("refuses a file that was not read, has changed, is missing or is no UTF-8", async () => {
    world.put("/workspace/a", "abc");
    const input = { file_path: "a", old_string: "a", new_string: "b" };
    expect(errorOf(await world.run(edit, input))).toContain("has not been read");
    await world.run(read, { file_path: "a" });
    world.put("/workspace/a", "abcd");
    expect(errorOf(await world.run(edit, input))).toContain("changed since");
    expect(errorOf(await world.run(edit, { ...input, file_path: "none" }))).toContain("does not exist");
    world.put("/workspace/a", new Uint8Array([0x61, 0xe9, 0x62]));
    await world.run(read, { file_path: "a" });
    expect(errorOf(await world.run(edit, input))).toContain("not UTF-8");
  });
});
