import { describe, expect, it } from "vitest";
import { linkResolver } from "../../../scripts/cases/security-paths.ts";
import type { PermissionCall, PermissionMode } from "../../../src/contract/permission.ts";
import type { PermissionClass } from "../../../src/contract/tools.ts";
import { createPolicy, type PolicyOptions } from "../../../src/permission/policy.ts";

type Setup = {
  class: PermissionClass;
  readOnly?: boolean;
  mode?: PermissionMode;
  links?: Record<string, string>;
  cwd?: string;
};

function call(toolName: string, input: Record<string, unknown>, setup: Setup): PermissionCall {
  const resolve = linkResolver(setup.links ?? {});
  return {
    toolName,
    input,
    mode: setup.mode ?? "default",
    cwd: setup.cwd ?? "/workspace",
    root: "/workspace",
    files: { realPath: async (path) => resolve(path) },
    metadata: {
      readOnly: setup.readOnly ?? false,
      concurrencySafe: false,
      destructive: false,
      searchHint: "",
      permissionClass: setup.class,
      requiresCheckpoint: false,
      auditOperation: "invoke",
      recovery: "unknown",
    },
  };
}

const decide = async (options: Partial<PolicyOptions>, ...args: Parameters<typeof call>) =>
  (await createPolicy({ allowedDomains: [], ...options }).check(call(...args))).decision;
const bash = (command: string, mode: PermissionMode = "default", rules: PolicyOptions["rules"] = {}) =>
  decide({ rules }, "Bash", { command }, { class: "bash", mode });
const write = (file_path: string, mode: PermissionMode = "default", rules: PolicyOptions["rules"] = {}) =>
  decide({ rules }, "Write", { file_path }, { class: "file", mode });

describe("the policy", () => {
  // spec: S-1
  it("passes, asks and denies by class", async () => {
    expect(await bash("ls")).toBe("allow");
    expect(await bash("npm install")).toBe("ask");
    expect(await bash("rm -rf /")).toBe("deny");
    expect(await write("a.txt")).toBe("allow");
    expect(await write(".git/config")).toBe("ask");
    expect(await write("/etc/passwd")).toBe("deny");
    expect(await write("a\u0000")).toBe("deny");
    expect(await decide({}, "Read", { file_path: ".env" }, { class: "file", readOnly: true })).toBe("ask");
    expect(await decide({}, "Grep", { pattern: "x" }, { class: "file", readOnly: true })).toBe("allow");
    expect(await decide({}, "Todo", {}, { class: "readonly" })).toBe("allow");
    expect(await decide({}, "Custom", {}, { class: "generic" })).toBe("ask");
  });

  it("asks for addresses unless their domain is allowed, and denies what is not public", async () => {
    const fetch = (url: string) =>
      decide({ allowedDomains: ["docs.example.com"] }, "WebFetch", { url }, { class: "webfetch", readOnly: true });
    expect(await fetch("https://docs.example.com/a")).toBe("allow");
    expect(await fetch("https://other.example.com/a")).toBe("ask");
    expect(await fetch("http://169.254.169.254/")).toBe("deny");
    expect(await fetch("nonsense")).toBe("deny");
  });

  // spec: S-1
  it("denies a name that resolves to a private address, or not at all, whatever allows its domain", async () => {
    const options = { allowedDomains: ["docs.example.com"], rules: { allow: ["WebFetch"] } };
    const [url, setup] = ["https://docs.example.com/a", { class: "webfetch", readOnly: true } as const];
    const asked: string[] = [];
    const answer = (addresses: readonly string[]) => async (hostname: string) => {
      asked.push(hostname);
      return addresses;
    };
    const open = answer(["93.184.216.34", "2606:4700::1"]);
    expect(await decide({ ...options, resolve: open }, "WebFetch", { url }, setup)).toBe("allow");
    expect(await decide({ allowedDomains: [], resolve: open }, "WebFetch", { url }, setup)).toBe("ask");
    expect(asked).toEqual(["docs.example.com", "docs.example.com"]);
    for (const resolve of [
      answer(["93.184.216.34", "10.1.2.3"]),
      answer(["::1"]),
      answer([]),
      () => Promise.reject(new Error("down")),
    ]) {
      for (const mode of ["default", "bypass"] as const) {
        expect(await decide({ ...options, resolve }, "WebFetch", { url }, { ...setup, mode })).toBe("deny");
      }
    }
  });

  // spec: G-1
  it("follows the mode", async () => {
    expect(await write("a.txt", "ask_edits")).toBe("ask");
    expect(await write("a.txt", "plan")).toBe("deny");
    expect(await write(".git/config", "bypass")).toBe("allow");
    expect(await write("/etc/passwd", "bypass")).toBe("deny");
    expect(await bash("ls", "plan")).toBe("allow");
    expect(await bash("npm install", "plan")).toBe("deny");
    expect(await bash("npm install", "bypass")).toBe("allow");
    expect(await bash("rm -rf ~", "bypass")).toBe("deny");
    expect(await decide({}, "Custom", {}, { class: "generic", mode: "plan" })).toBe("deny");
  });

  it("matches rules by the words of every call, a denial first", async () => {
    const rules = {
      allow: ["Bash(npm run:*)", "Bash(git push)"],
      deny: ["Bash(npm run deploy:*)"],
      ask: ["Bash(ls -R:*)"],
    };
    expect(await bash("npm run build", "default", rules)).toBe("allow");
    expect(await bash("npm run build && ls", "default", rules)).toBe("allow");
    expect(await bash("npm run build; touch x", "default", rules)).toBe("ask");
    expect(await bash("npm run build > out", "default", rules)).toBe("ask");
    expect(await bash("npm run $(touch x)", "default", rules)).toBe("ask");
    expect(await bash("npm running", "default", rules)).toBe("ask");
    expect(await bash("git push", "default", rules)).toBe("allow");
    expect(await bash("git push --force", "default", rules)).toBe("ask");
    expect(await bash("ls && npm run deploy x", "default", rules)).toBe("deny");
    expect(await bash("echo $(npm run 'deploy')", "bypass", rules)).toBe("deny");
    expect(await bash("ls -R src", "default", rules)).toBe("ask");
    expect(await bash("npm run build", "plan", rules)).toBe("deny");
    expect(await bash("rm -rf /", "default", { allow: ["Bash"] })).toBe("deny");
    expect(await bash("make", "default", { allow: ["Bash"] })).toBe("allow");
  });

  it("matches rules for files, addresses and whole tools", async () => {
    expect(await write("src/a/b.ts", "ask_edits", { allow: ["Write(src/**)"] })).toBe("allow");
    expect(await write("src/../lib/b.ts", "ask_edits", { allow: ["Write(src/**)"] })).toBe("ask");
    expect(await write("src/a.ts", "default", { deny: ["Write(src/*.ts)"] })).toBe("deny");
    const fetch = { allow: ["WebFetch(domain:example.com)"] };
    expect(await decide({ rules: fetch }, "WebFetch", { url: "https://a.example.com" }, { class: "webfetch" })).toBe(
      "allow",
    );
    expect(await decide({ rules: { deny: ["mcp__*"] } }, "mcp__x__y", {}, { class: "readonly" })).toBe("deny");
    expect(() => createPolicy({ allowedDomains: [], rules: { allow: ["Bash(("] } })).toThrow("not a permission rule");
  });

  it("looks behind links of files that a command reads", async () => {
    const links = { "/workspace/link": "/etc", "/workspace/env.txt": "/workspace/.env" };
    expect(await decide({}, "Bash", { command: "cat link/passwd" }, { class: "bash", links })).toBe("ask");
    expect(await decide({}, "Bash", { command: "cat env.txt" }, { class: "bash", links })).toBe("ask");
    expect(await decide({}, "Bash", { command: "cat a.txt" }, { class: "bash", links })).toBe("allow");
    for (const command of [
      "sed -n p env.txt",
      "awk 1 env.txt",
      "jq . env.txt",
      "wc -l < env.txt",
      "find link",
      "cat link/../x",
    ])
      expect([command, await decide({}, "Bash", { command }, { class: "bash", links })]).toEqual([command, "ask"]);
    for (const command of ["sed -n p a.txt", "wc -l < a.txt", "find src", "cat src/../x"])
      expect([command, await decide({}, "Bash", { command }, { class: "bash", links })]).toEqual([command, "allow"]);
  });

  it("refuses glob patterns that leave the workspace", async () => {
    const glob = (pattern: string, path?: string) =>
      decide({}, "Glob", { pattern, ...(path ? { path } : {}) }, { class: "file", readOnly: true });
    expect(await glob("**/*.ts")).toBe("allow");
    expect(await glob("/workspace/src/*.ts")).toBe("allow");
    expect(await glob("../*.ts")).toBe("deny");
    expect(await glob("/etc/*")).toBe("deny");
    expect(await glob("src/*/../../../x")).toBe("deny");
    expect(await glob("{..,src}/*")).toBe("deny");
  });

  it("keeps registered classes to the instance and takes them back", async () => {
    const policy = createPolicy({ allowedDomains: [] });
    const custom = call("Custom", { command: "ls" }, { class: "generic" });
    policy.registerToolClass("Custom", "bash");
    expect((await policy.check(custom)).decision).toBe("allow");
    expect((await createPolicy({ allowedDomains: [] }).check(custom)).decision).toBe("ask");
    policy.unregisterToolClass("Custom");
    expect((await policy.check(custom)).decision).toBe("ask");
  });

  it("counts anything that throws as a denial", async () => {
    const broken = {
      ...call("Read", { file_path: "a" }, { class: "file", readOnly: true }),
      files: { realPath: () => Promise.reject(new Error("down")) },
    };
    expect((await createPolicy({ allowedDomains: [] }).check(broken)).decision).toBe("deny");
    expect(await decide({}, "Bash", { command: 5 }, { class: "bash" })).toBe("deny");
    expect(await decide({}, "WebFetch", {}, { class: "webfetch" })).toBe("deny");
  });
});
