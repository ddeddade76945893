import { expect, test } from "vitest";
import { clientOf } from "../../../src/http/client-address.ts";
import { createSingleTokenTenants } from "../../../src/http/tenants.ts";
import { json, testApp } from "./support/fakes.ts";

const TOKEN = "test-token-0123456789abcdef";
const auth = { authorization: `Bearer ${TOKEN}` };
const from = (ip: string, headers: Record<string, string> = {}) => ({
  headers: { "cf-connecting-ip": ip, ...headers },
});

// spec: H-14
test("charges the address, then the tenant, and returns the address its charge", async () => {
  const { app, limiter } = testApp({ RATE_LIMIT_PER_MINUTE: 60, BEARER_TOKEN: TOKEN });
  expect((await app.request("/v1/tools", from("198.51.100.7", auth))).status).toBe(200);
  expect(limiter.calls).toEqual([
    "take ip:calls:198.51.100.7 60",
    "take tenant:calls:default 60",
    "give back ip:calls:198.51.100.7",
  ]);
});

test("counts one tenant on many addresses together and tells the wait to the second", async () => {
  const { app, clock } = testApp({ RATE_LIMIT_PER_MINUTE: 2, BEARER_TOKEN: TOKEN });
  await app.request("/v1/tools", from("198.51.100.1", auth));
  clock.now += 10_500;
  await app.request("/v1/tools", from("198.51.100.2", auth));
  const refused = await app.request("/v1/tools", from("198.51.100.3", auth));
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("50");
  clock.now += 49_500;
  expect((await app.request("/v1/tools", from("198.51.100.3", auth))).status).toBe(200);
});

test("does not let one tenant's use of an address disturb another tenant", async () => {
  const tenants = {
    required: async () => true,
    find: async (token: string) => (token === "a" || token === "b" ? { tenant: token } : undefined),
  };
  const { app } = testApp({ RATE_LIMIT_PER_MINUTE: 2 }, { tenants });
  const as = (token: string) => from("198.51.100.7", { authorization: `Bearer ${token}` });
  for (const status of [200, 200, 429, 429]) expect((await app.request("/v1/tools", as("a"))).status).toBe(status);
  for (const status of [200, 200, 429]) expect((await app.request("/v1/tools", as("b"))).status).toBe(status);
});

test("uses a tenant's own limit", async () => {
  const tenants = { required: async () => true, find: async () => ({ tenant: "big", ratePerMinute: 5 }) };
  const { app } = testApp({ RATE_LIMIT_PER_MINUTE: 1 }, { tenants });
  for (let i = 0; i < 5; i++) expect((await app.request("/v1/tools", { headers: auth })).status).toBe(200);
  expect((await app.request("/v1/tools", { headers: auth })).status).toBe(429);
});

test("limits guessed tokens by address before they are looked up", async () => {
  let lookups = 0;
  const tenants = {
    required: async () => true,
    find: async () => {
      lookups++;
      return undefined;
    },
  };
  const { app } = testApp({ RATE_LIMIT_PER_MINUTE: 3 }, { tenants });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    const guess = await app.request("/v1/tools", from("198.51.100.7", { authorization: `Bearer guess-${i}` }));
    statuses.push(guess.status);
  }
  expect(statuses).toEqual([403, 403, 403, 429, 429]);
  expect(lookups).toBe(3);
});

test("answers a flood from memory until the retry time", async () => {
  const { app, clock, limiter } = testApp({ RATE_LIMIT_PER_MINUTE: 1 });
  for (let i = 0; i < 20; i++) await app.request("/v1/tools", from("198.51.100.7"));
  expect(limiter.calls).toHaveLength(2);
  clock.now += 59_001;
  const late = await app.request("/v1/tools", from("198.51.100.7"));
  expect([late.status, late.headers.get("retry-after")]).toEqual([429, "1"]);
  clock.now += 999;
  expect((await app.request("/v1/tools", from("198.51.100.7"))).status).toBe(200);
});

test("gives answers and cancels a bucket of their own", async () => {
  const { app, limiter } = testApp({ RATE_LIMIT_PER_MINUTE: 1 });
  await app.request("/v1/sessions", { method: "POST" });
  expect((await app.request("/v1/sessions", { method: "POST" })).status).toBe(429);
  expect((await app.request("/v1/sessions/s/cancel", { method: "POST" })).status).toBe(404);
  expect((await app.request("/v1/sessions/s/permissions/p", json("POST", { allow: true }))).status).toBe(429);
  expect(limiter.calls.at(-1)).toBe("take ip:replies:shared 1");
});

test("sees one client in an IPv6 /64 and in junk", () => {
  expect(clientOf("2001:db8:1:2::1")).toBe(clientOf("2001:DB8:1:2:ffff::9"));
  expect(clientOf("2001:db8:1:3::1")).not.toBe(clientOf("2001:db8:1:2::1"));
  expect(clientOf("::ffff:198.51.100.7")).toBe("198.51.100.7");
  for (const junk of [undefined, "", "a, b", "x".repeat(5000)]) expect(clientOf(junk)).toBe("shared");
});

test("shares one bucket when no header names the client", async () => {
  const { app } = testApp({ RATE_LIMIT_PER_MINUTE: 1, CLIENT_IP_HEADER: "" });
  await app.request("/v1/tools", from("198.51.100.1"));
  expect((await app.request("/v1/tools", from("198.51.100.2"))).status).toBe(429);
});

// spec: H-11
test("serves nobody but loopback without a token, and says why", async () => {
  const { app } = testApp();
  for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"]) {
    expect((await app.request(`http://${host}/v1/tools`)).status).toBe(200);
  }
  const refused = await app.request("https://agent.example/v1/tools");
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    error: { type: "permission_error", message: expect.stringContaining("BEARER_TOKEN") },
  });
  expect((await app.request("https://agent.example/v1/health")).status).toBe(200);
  expect((await testApp({ ALLOW_ANONYMOUS: "true" }).app.request("https://agent.example/v1/tools")).status).toBe(200);
});

test("knows the one token and no other", async () => {
  const tenants = createSingleTokenTenants(TOKEN);
  expect(await tenants.find(TOKEN)).toEqual({ tenant: "default" });
  for (const wrong of ["", TOKEN.slice(1), `${TOKEN}x`]) expect(await tenants.find(wrong)).toBeUndefined();
  expect(await createSingleTokenTenants("").required()).toBe(false);
  expect(await createSingleTokenTenants(undefined).find("")).toBeUndefined();
});
