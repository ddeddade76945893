import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linkResolver } from "../../../scripts/cases/security-paths.ts";
import { classifyPath, isBelow, tidyPath } from "../../../src/permission/path.ts";

const ROOT = "/workspace";
const ask = (
  path: string,
  extra: Partial<Parameters<typeof classifyPath>[0]> = {},
  links: Record<string, string> = {},
) => classifyPath({ op: "read", path, cwd: ROOT, root: ROOT, ...extra }, linkResolver(links));

describe("the file class", () => {
  // spec: S-1
  it("takes the parent after links, and by the text too", async () => {
    const links = { "/workspace/link": "/etc/ssl" };
    expect(await ask("link/../passwd", {}, links)).toMatchObject({ verdict: "outside", resolved: "/etc/passwd" });
    expect(await ask("/x/../workspace/a", {}, { "/x": "/workspace/deep" })).toMatchObject({ verdict: "inside" });
    expect(await ask("sub/../link/x", {}, { "/workspace/sub": "/workspace/a/b", ...links })).toMatchObject({
      verdict: "outside",
    });
  });

  it("judges a workspace that is itself a link by its real place", async () => {
    const links = { "/workspace": "/data/ws1" };
    expect(await ask("a.txt", {}, links)).toMatchObject({ verdict: "inside", resolved: "/data/ws1/a.txt" });
    expect(await ask("/data/ws2/a.txt", {}, links)).toMatchObject({ verdict: "outside" });
    expect(await ask("up", {}, { ...links, "/data/ws1/up": "/workspace/../ws2" })).toMatchObject({
      verdict: "outside",
    });
  });

  it("refuses a loop of links", async () => {
    expect(await ask("a", {}, { "/workspace/a": "b", "/workspace/b": "a" })).toMatchObject({ verdict: "invalid" });
  });

  it("sees protected names behind links, cases and lenient spellings", async () => {
    const write = { op: "write" } as const;
    for (const path of [
      ".git/config",
      ".GIT/hooks/x",
      "git~1/config",
      ".git./config",
      ".g\u200cit/x",
      "a/.husky/pre-push",
    ]) {
      expect([path, (await ask(path, write)).verdict]).toEqual([path, "protected"]);
    }
    expect(await ask(".git/config", write, { "/workspace/.git": "/workspace/meta" })).toMatchObject({
      verdict: "protected",
    });
    expect(await ask("keys", {}, { "/workspace/keys": "/workspace/.env" })).toMatchObject({ credential: true });
  });

  it("lets templates, public keys and ordinary reads of protected folders pass", async () => {
    for (const path of [
      ".env.example",
      ".vscode/settings.json",
      ".git/HEAD",
      "src/keys.ts",
      "id_rsa.pub",
      ".gitignore",
    ]) {
      expect([path, (await ask(path)).verdict]).toEqual([path, "inside"]);
    }
  });

  // spec: S-1
  it("takes files of shell variables for credentials, whatever stands before or behind .env", async () => {
    for (const path of [".envrc", ".env~", "deploy/prod.env", "app.ENV"])
      expect([path, (await ask(path)).verdict]).toEqual([path, "protected"]);
    for (const path of ["example.env", ".env.dist", "environment", "src/env.ts", ".env.d.x/a"])
      expect([path, (await ask(path)).verdict]).toEqual([path, "inside"]);
  });

  // spec: S-1
  it("refuses control characters, line separators and half characters, and no letters", async () => {
    for (const path of ["a\x85b", "a\u2028b", "a\u206eb", "a\ud800", "a\nb"])
      expect([path, (await ask(path)).verdict]).toEqual([path, "invalid"]);
    for (const path of ["👩‍💻.md", "日本語.txt", "nai\u0308ve"])
      expect([path, (await ask(path)).verdict]).toEqual([path, "inside"]);
  });

  it("lets a restricted writer write its folders only and read the workspace", async () => {
    const allowDirs = ["/memory/u1"];
    expect(await ask("src/a.ts", { op: "write", allowDirs })).toMatchObject({ verdict: "outside" });
    expect(await ask("src/a.ts", { allowDirs })).toMatchObject({ verdict: "inside" });
    expect(await ask("/memory/u10/a", { op: "write", allowDirs })).toMatchObject({ verdict: "outside" });
  });

  it("never calls a path inside that resolves to somewhere else", async () => {
    const segment = fc.constantFrom("a", "b", "..", ".", "", "in", "out", "workspace", "etc", "workspace2");
    await fc.assert(
      fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 8 }), fc.boolean(), async (segments, absolute) => {
        const path = (absolute ? "/" : "") + segments.join("/");
        fc.pre(path !== "");
        const links = {
          "/workspace/out": "/etc",
          "/workspace/a/in": "/workspace/b",
          "/workspace/b/out": "../..",
          "/etc/b": "/",
        };
        const verdict = await ask(path, {}, links);
        const kernel = walk(absolute ? path : `${ROOT}/${path}`, linkResolver(links));
        if (!isBelow(kernel, ROOT)) expect(verdict.verdict).toBe("outside");
        if (verdict.verdict === "inside") expect(isBelow(verdict.resolved ?? "", ROOT)).toBe(true);
      }),
    );
  });
});

/** What a kernel makes of the text: one segment at a time. */
function walk(path: string, resolve: ReturnType<typeof linkResolver>): string {
  let current = "/";
  for (const segment of path.split("/")) {
    const next = resolve(segment === ".." ? tidyPath(`${current}/..`) : `${current}/${segment}`);
    current = next.ok ? next.value : current;
  }
  return current;
}
