import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { SseReader } from "../support/sse-client.ts";

let folder: string;
let base: string;
let child: ChildProcess;

/** The bundle on `workerd serve` alone: objects on disk, and neither D1 nor R2. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "flyto-bare-"));
  await mkdir(join(folder, "data"));
  await copyFile(join(inject("bundleDir"), "index.js"), join(folder, "index.js"));
  base = `http://127.0.0.1:${await freePort()}`;
  await writeFile(join(folder, "config.capnp"), configuration(base.slice("http://".length), join(folder, "data")));
  await start();
}, 60_000);

afterAll(async () => {
  await kill();
  await rm(folder, { recursive: true, force: true });
});

test("a session runs, is listed and audited without a database, and outlives a SIGKILL", async () => {
  // spec: H-3 H-6 S-4
  expect((await post("/v1/sessions", { session_id: "bare" })).status).toBe(201);
  const stream = new SseReader(
    await post("/v1/sessions/bare/messages", { prompt: "write hi to a.txt then run `cat a.txt`" }),
  );
  await stream.toEnd();
  expect(stream.seen.at(-1)).toMatchObject({ type: "done", data: { stop_reason: "end_turn" } });
  expect(await (await fetch(`${base}/v1/sessions`)).text()).toContain('"bare"');
  const audit = await (await fetch(`${base}/v1/audit?session_id=bare`)).text();
  expect(audit).toContain('"tool_name":"Write"');
  await kill();
  await start();
  expect(await (await fetch(`${base}/v1/sessions/bare/files/a.txt`)).text()).toBe("hi");
  expect(await (await fetch(`${base}/v1/sessions/bare`)).json()).toMatchObject({ message_count: 6 });
});

function post(path: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function start(): Promise<void> {
  child = spawn("node_modules/.bin/workerd", ["serve", join(folder, "config.capnp"), "--experimental"], {
    detached: true,
    stdio: "ignore",
  });
  await vi.waitFor(async () => expect((await fetch(`${base}/v1/health`)).status).toBe(200), { timeout: 20_000 });
}

async function kill(): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  process.kill(-child.pid, "SIGKILL");
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function configuration(address: string, data: string): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .app), (name = "disk", disk = (path = "${data}", writable = true)) ],
  sockets = [ (name = "http", address = "${address}", http = (), service = "main") ],
);
const app :Workerd.Worker = (
  modules = [ (name = "index.js", esModule = embed "index.js") ],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["enable_request_signal"],
  durableObjectNamespaces = [
    (className = "Session", uniqueKey = "session", enableSql = true),
    (className = "RateLimiter", uniqueKey = "limiter", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "SESSION", durableObjectNamespace = "Session"),
    (name = "LIMITER", durableObjectNamespace = "RateLimiter"),
    (name = "CLIENT_IP_HEADER", text = ""),
  ],
);
`;
}
