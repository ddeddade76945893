import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkHops,
  checkUrl,
  createDohResolver,
  createEgressFetch,
  isAllowedDomain,
  type Resolve,
} from "../../../src/shared/egress.ts";

const verdict = async (url: string, options = {}) => (await checkUrl(url, options)).verdict;

describe("the address check", () => {
  // spec: S-1
  it("blocks every spelling of an address that is not public", async () => {
    const hosts = [
      "127.1",
      "0x7f.0.0.1",
      "017700000001",
      "127.0.0.1.",
      "[::]",
      "[::ffff:10.0.0.1]",
      "[fe80::1]",
      "[fec0::1]",
      "[ff02::1]",
      "[2001:db8::1]",
      "[2002:7f00:1::]",
      "[2001:0:7f00:1::]",
      "[64:ff9b:1::a00:1]",
      "[2606:4700::5efe:a00:1]",
      "[100::1]",
      "192.0.0.1",
      "192.168.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "router",
      "a.localdomain",
      "LOCALHOST",
      "host.docker.internal",
      "kubernetes.default.svc",
      "168.63.129.16",
      "[::ffff:168.63.129.16]",
    ];
    for (const host of hosts) expect([host, await verdict(`http://${host}/`)]).toEqual([host, "block"]);
  });

  it("lets public hosts pass, also as mapped addresses and on other web ports", async () => {
    for (const host of ["8.8.8.8", "[::ffff:8.8.8.8]", "example.com:8443", "EXAMPLE.com.", "fe80.example.com"]) {
      expect([host, await verdict(`https://${host}/`)]).toEqual([host, "allow"]);
    }
  });

  it("never lets a private IPv4 address pass in any IPv6 clothing", async () => {
    const parts = fc.tuple(fc.constantFrom(10, 127), fc.nat(255), fc.nat(255), fc.nat(255));
    const wrap = fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "fe80::5efe:", "fe80::");
    await fc.assert(
      fc.asyncProperty(parts, wrap, async (bytes, prefix) => {
        expect(await verdict(`http://[${prefix}${bytes.join(".")}]/`)).not.toBe("allow");
        expect(await verdict(`http://${bytes.join(".")}/`)).toBe("block");
      }),
    );
  });

  it("asks outside the allowed domains and never lets them lift a block", async () => {
    const allowDomains = ["*.Example.com", "127.0.0.1", "bücher.example"];
    expect(await verdict("https://example.com/", { allowDomains })).toBe("allow");
    expect(await verdict("https://a.b.example.com/", { allowDomains })).toBe("allow");
    expect(await verdict("https://xn--bcher-kva.example/", { allowDomains })).toBe("allow");
    expect(await verdict("https://notexample.com/", { allowDomains })).toBe("ask");
    expect(await verdict("https://a.example.com/", { allowDomains: [".example.com"] })).toBe("allow");
    expect(await verdict("https://example.com.evil.example/", { allowDomains })).toBe("ask");
    expect(await verdict("http://127.0.0.1/", { allowDomains })).toBe("block");
    expect(isAllowedDomain("example.com", ["", "*.", "not a host/"])).toBe(false);
  });

  it("refuses a name that resolves to nothing, to something private, or not at all", async () => {
    const resolveTo = (answers: string[]) => ({ resolve: async () => answers });
    expect(await verdict("https://a.example/", resolveTo(["93.184.216.34"]))).toBe("allow");
    expect(await verdict("https://a.example/", resolveTo([]))).toBe("block");
    expect(await verdict("https://a.example/", resolveTo(["93.184.216.34", "::1"]))).toBe("block");
    expect(await verdict("https://a.example/", resolveTo(["nonsense"]))).toBe("block");
    expect(await verdict("https://a.example/", { resolve: () => Promise.reject(new Error("down")) })).toBe("block");
  });

  it("judges each hop relative to the one before", async () => {
    expect((await checkHops("https://a.example/x/y", ["../z", "//b.example/"])).verdict).toBe("allow");
    expect((await checkHops("https://a.example/", ["//10.0.0.1/"])).verdict).toBe("block");
    expect((await checkHops("https://a.example/", ["http://["])).verdict).toBe("block");
    expect(
      (await checkHops("https://a.example/", ["https://b.example/"], { allowDomains: ["a.example"] })).verdict,
    ).toBe("ask");
  });
});

describe("the egress door", () => {
  it("passes a public request on with manual redirects and hands the 3xx back", async () => {
    const seen: unknown[] = [];
    const egress = createEgressFetch({
      fetch: async (url, init) => {
        seen.push([url, init.redirect, init.headers]);
        return new Response(null, { status: 302, headers: { location: "http://10.0.0.1/" } });
      },
    });
    const response = await egress("https://example.com/", { signal: AbortSignal.timeout(1000), headers: { a: "b" } });
    expect(response.status).toBe(302);
    expect(seen).toEqual([["https://example.com/", "manual", { a: "b" }]]);
  });

  it("throws EgressRefused before anything is sent", async () => {
    const egress = createEgressFetch({ fetch: () => Promise.reject(new Error("sent")) });
    for (const url of ["http://10.0.0.1/", "http://localhost:1/", "ftp://example.com/", "nonsense"]) {
      await expect(egress(url, { signal: AbortSignal.timeout(1000) })).rejects.toMatchObject({ name: "EgressRefused" });
    }
  });

  // spec: S-1
  it("asks the resolver for each request, and sends nothing when it refuses, fails or knows no address", async () => {
    const sent: string[] = [];
    const door = (resolve: Resolve) =>
      createEgressFetch({
        resolve,
        fetch: async (url) => {
          sent.push(url);
          return new Response("ok");
        },
      });
    const send = (resolve: Resolve, url: string) => door(resolve)(url, { signal: new AbortController().signal });
    const refused = createDohResolver({
      endpoint: "https://dns.example/q",
      fetch: () => Promise.reject(new Error("down")),
    });
    for (const resolve of [async () => ["93.184.216.34", "10.0.0.1"], async () => [], refused]) {
      await expect(send(resolve, "https://a.example/")).rejects.toMatchObject({ name: "EgressRefused" });
    }
    const egress = door(async (hostname) => [hostname === "a.example" ? "93.184.216.34" : "127.0.0.1"]);
    expect((await egress("https://a.example/", { signal: new AbortController().signal })).status).toBe(200);
    // The next hop of a redirect is a request like any other.
    await expect(egress("https://b.example/", { signal: new AbortController().signal })).rejects.toThrow("loopback");
    expect(sent).toEqual(["https://a.example/"]);
  });

  it("reaches loopback only where a test allows it", async () => {
    const egress = createEgressFetch({ fetch: async () => new Response("ok"), allowLoopback: true });
    expect((await egress("http://127.0.0.1:22/", { signal: AbortSignal.timeout(1000) })).status).toBe(200);
    await expect(egress("http://10.0.0.1/", { signal: AbortSignal.timeout(1000) })).rejects.toThrow("refused");
  });
});

describe("the DNS-over-HTTPS resolver", () => {
  type Asked = { url: URL; accept: string | undefined; redirect: string };
  const A = { Status: 0, Answer: [{ name: "a.example", type: 1, TTL: 60, data: "93.184.216.34" }] };
  const AAAA = { Status: 0, Answer: [{ name: "a.example", type: 28, TTL: 60, data: "2606:4700::1" }] };

  function resolver(answer: (type: string) => unknown, endpoint = "https://dns.example/q?key=1") {
    const asked: Asked[] = [];
    const resolve = createDohResolver({
      endpoint,
      timeoutMs: 1_000,
      fetch: async (address, { headers, redirect }) => {
        const parsed = new URL(address);
        asked.push({ url: parsed, accept: headers.accept, redirect });
        const body = answer(parsed.searchParams.get("type") ?? "");
        return body instanceof Response ? body : Response.json(body);
      },
    });
    return { resolve, asked };
  }
  const reasonFor = async (resolve: Resolve) => {
    const { verdict, reason } = await checkUrl("https://a.example/", { resolve });
    return `${verdict}: ${reason}`;
  };

  // spec: S-1
  it("asks for both families, and collects their addresses without the aliases", async () => {
    const alias = { name: "a.example", type: 5, TTL: 60, data: "alias.example." };
    const { resolve, asked } = resolver((type) => (type === "A" ? { ...A, Answer: [alias, ...A.Answer] } : AAAA));
    expect(await resolve("a.example")).toEqual(["93.184.216.34", "2606:4700::1"]);
    expect(asked.map(({ url }) => url.href)).toEqual([
      "https://dns.example/q?key=1&name=a.example&type=A",
      "https://dns.example/q?key=1&name=a.example&type=AAAA",
    ]);
    expect(asked[0]).toMatchObject({ accept: "application/dns-json", redirect: "manual" });
    expect(await reasonFor(resolve)).toBe("allow: public host");
  });

  it("refuses names that lead to private addresses in either family, or to none", async () => {
    const private6 = { Status: 0, Answer: [{ type: 28, data: "::1" }] };
    expect(await reasonFor(resolver((type) => (type === "A" ? A : private6)).resolve)).toBe(
      "block: the host resolves to a loopback address",
    );
    expect(await reasonFor(resolver(() => ({ Status: 3 })).resolve)).toBe("block: the host could not be resolved");
    expect(await reasonFor(resolver(() => ({ Status: 0, Answer: [] })).resolve)).toBe(
      "block: the host could not be resolved",
    );
  });

  it("refuses with a reason when the resolver fails, were it for one family only", async () => {
    const failures: unknown[] = [
      Response.json(AAAA, { status: 500 }),
      Response.json(AAAA, { status: 302, headers: { location: "https://other.example/" } }),
      new Response("<html>"),
      { Status: 2 },
      { Answer: [] },
      { Status: 0, Answer: [{ type: 28, data: 7 }] },
    ];
    for (const failure of failures) {
      const { resolve } = resolver((type) => (type === "A" ? A : failure));
      expect(await reasonFor(resolve)).toBe("block: the host could not be resolved");
    }
  });

  it("waits no longer than it was told to", async () => {
    const resolve = createDohResolver({
      endpoint: "https://dns.example/q",
      timeoutMs: 1,
      fetch: (_url, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    await expect(resolve("a.example")).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await reasonFor(resolve)).toBe("block: the host could not be resolved");
  });
});
