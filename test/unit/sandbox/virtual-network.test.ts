import { expect, test } from "vitest";
import { createMemorySandbox, type NetworkInit } from "../../../src/sandbox/virtual/index.ts";
import { createEgressFetch } from "../../../src/shared/egress.ts";
import { run } from "./support/shell.ts";

type Asked = { readonly url: string; readonly init: NetworkInit };

/** A sandbox whose network is a function, and what it was asked. */
function make(answer: (url: string) => Response, allowDomains = ["example.com"]) {
  const asked: Asked[] = [];
  const fetch = async (url: string, init: NetworkInit) => {
    asked.push({ url, init });
    return answer(url);
  };
  return {
    asked,
    sandbox: createMemorySandbox({ maxBytes: 1 << 24, now: Date.now, network: { allowDomains, fetch } }),
  };
}

// spec: X-2
test("has no network unless it is given one, and says so", async () => {
  const sandbox = createMemorySandbox({ maxBytes: 1 << 20, now: Date.now });
  const ran = await run(sandbox, "curl https://example.com/");
  expect(ran.exitCode).toBe(127);
  expect(ran.stderr).toContain("without curl, and network access is off in it");
});

test("fetches from allowed domains and those below, with method, headers and body", async () => {
  const { asked, sandbox } = make(() => new Response("pong", { headers: { "x-a": "b" } }));
  const ran = await run(
    sandbox,
    "curl -s -X POST -H 'X-Key: k' -d 'a=1' https://api.example.com/p?q=1; curl -s -o f https://example.com/; cat f",
  );
  expect(ran).toMatchObject({ stdout: "pongpong", exitCode: 0 });
  expect(asked[0]).toMatchObject({ url: "https://api.example.com/p?q=1", init: { method: "POST", body: "a=1" } });
  expect(new Headers(asked[0]?.init.headers).get("x-key")).toBe("k");
});

test.each([
  ["another domain", "https://example.org/"],
  ["a name that only looks like it", "https://notexample.com/"],
  ["credentials in the address", "https://example.com@evil.test/"],
  ["a private address", "http://10.0.0.1/"],
  ["the metadata address", "http://169.254.169.254/latest"],
  ["loopback", "http://localhost:8787/"],
])("asks nobody for %s", async (_, url) => {
  const { asked, sandbox } = make(
    () => new Response("secret"),
    ["example.com", "10.0.0.1", "169.254.169.254", "localhost"],
  );
  const ran = await run(sandbox, `curl -s -S ${url}`);
  expect(ran.exitCode).not.toBe(0);
  expect(ran.stdout).toBe("");
  expect(ran.stderr).toContain("refused");
  expect(asked).toEqual([]);
});

test("checks every redirect, and keeps keys from other hosts", async () => {
  const hops: Readonly<Record<string, string>> = {
    "https://example.com/in": "https://b.example.com/next",
    "https://example.com/out": "http://127.0.0.1/",
    "https://example.com/loop": "https://example.com/loop",
  };
  const { asked, sandbox } = make((url) =>
    hops[url] === undefined
      ? new Response("there")
      : new Response(null, { status: 302, headers: { location: hops[url] } }),
  );
  const inside = await run(sandbox, "curl -sL -H 'Authorization: Bearer t' https://example.com/in");
  expect(inside.stdout).toBe("there");
  expect(asked.map(({ init }) => new Headers(init.headers).get("authorization"))).toEqual(["Bearer t", null]);
  const out = await run(sandbox, "curl -sSL https://example.com/out");
  expect(out.stderr).toContain("refused");
  expect((await run(sandbox, "curl -sSL https://example.com/loop")).stderr).toContain("redirects");
  expect(asked.some(({ url }) => url.includes("127.0.0.1"))).toBe(false);
});

test("passes on what the injected fetch refuses, and ends with the command", async () => {
  const egress = createEgressFetch({ fetch: async () => new Response("x"), resolve: async () => ["10.1.2.3"] });
  const network = { allowDomains: ["example.com"], fetch: egress };
  const sandbox = createMemorySandbox({ maxBytes: 1 << 20, now: Date.now, network });
  const ran = await run(sandbox, "curl -sS https://example.com/");
  expect(ran.exitCode).not.toBe(0);
  expect(ran.stderr).toContain("Request refused: the host resolves to a");
  let aborted = false;
  const hanging = (_: string, init: NetworkInit) =>
    new Promise<Response>((_, reject) => {
      init.signal.addEventListener("abort", () => {
        aborted = true;
        reject(init.signal.reason);
      });
    });
  const slow = createMemorySandbox({ maxBytes: 1 << 20, now: Date.now, network: { ...network, fetch: hanging } });
  expect(await run(slow, "curl -sS https://example.com/", { timeoutMs: 100 })).toMatchObject({ exitCode: 124 });
  expect(aborted).toBe(true);
});

test("takes no answer that would fill the memory", async () => {
  const piece = new Uint8Array(1 << 20);
  const endless = () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
  const ran = await run(make(endless).sandbox, "curl -sS https://example.com/ | wc -c");
  expect(ran.stderr).toContain("larger than 10485760 bytes");
});
