import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkHops,
  checkUrl,
  createDohResolver,
  createEgressFetch,
  isAllowedDomain,
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

  it("reaches loopback only where a test allows it", async () => {
    const egress = createEgressFetch({ fetch: async () => new Response("ok"), allowLoopback: true });
    expect((await egress("http://127.0.0.1:22/", { signal: AbortSignal.timeout(1000) })).status).toBe(200);
    await expect(egress("http://10.0.0.1/", { signal: AbortSignal.timeout(1000) })).rejects.toThrow("refused");
  });
});

describe("the DNS-over-HTTPS resolver", () => {
  it("collects addresses of both families and leaves aliases out", async () => {
    const resolve = createDohResolver({
      endpoint: "https://dns.example/q",
      fetch: async (url) =>
        Response.json({
          Answer: url.endsWith("type=A")
            ? [
                { type: 5, data: "alias.example." },
                { type: 1, data: "93.184.216.34" },
              ]
            : [{ type: 28, data: "2606:4700::1" }],
        }),
    });
    expect(await resolve("a.example")).toEqual(["93.184.216.34", "2606:4700::1"]);
  });

  it("throws when the resolver fails, which refuses the name", async () => {
    const resolve = createDohResolver({
      endpoint: "https://dns.example/q",
      fetch: async () => new Response("", { status: 500 }),
    });
    await expect(resolve("a.example")).rejects.toThrow("500");
  });
});
