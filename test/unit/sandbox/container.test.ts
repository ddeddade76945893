import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { createMachine, type Machine } from "../../../sandbox-container/src/machine.ts";
import { handle } from "../../../sandbox-container/src/worker.ts";
import { createRemoteSandbox } from "../../../src/sandbox/remote/index.ts";
import { delay } from "./support/clock.ts";
import { describeSandbox } from "./support/contract.ts";
import { createFakeContainer, createFakeStorage, type FakeContainer } from "./support/fake-container.ts";
import { openProtocolSandbox } from "./support/protocol-sandbox.ts";
import { bytes, read, run } from "./support/shell.ts";

// Each file call is a process in a namespace of its own here: a thousand of them take a while.
vi.setConfig({ testTimeout: 120_000 });

const TOKEN = "test-token";
const IDLE_MS = 60_000;
const opened: FakeContainer[] = [];
const closeAll = () => Promise.all(opened.splice(0).map((each) => each.close()));
afterAll(closeAll);

/** The Worker with one container for each sandbox id, as objects by name have it. */
function deploy(now: () => number = Date.now) {
  const machines = new Map<string, { machine: Machine; container: FakeContainer }>();
  const made = new Map<string, Promise<Machine>>();
  const machineOf = async (id: string): Promise<Machine> => {
    const container = await createFakeContainer();
    opened.push(container);
    const machine = createMachine({
      ...{
        container,
        storage: createFakeStorage(),
        allowInternet: false,
        instance: "lite",
        idleMs: IDLE_MS,
        now,
        delay,
      },
    });
    machines.set(id, { machine, container });
    return machine;
  };
  let ids = 0;
  const door = {
    token: TOKEN,
    newId: () => `s${++ids}`,
    machine: (id: string) => {
      const mine = made.get(id) ?? machineOf(id);
      made.set(id, mine);
      return { fetch: async (request: Request) => (await mine).fetch(request) };
    },
  };
  return { wire: (request: Request) => handle(request, door), machines };
}

describeSandbox("cloudflare (fake container)", async (size) => {
  await closeAll();
  const { wire } = deploy();
  return createRemoteSandbox({
    ...{ backend: "cloudflare", baseUrl: "http://sandbox.test", token: TOKEN, sandboxId: "s1", delay },
    fetch: (url, init) => wire(new Request(url, init)),
    ...(size?.maxBytes === undefined ? {} : { maxBytes: size.maxBytes }),
  });
});

describe("the container Worker", () => {
  afterEach(closeAll);

  test("lets in only who knows the token, and nobody when it has none", async () => {
    const { wire } = deploy();
    const ask = (headers: Record<string, string>) =>
      wire(new Request("http://s/v1/sandbox", { method: "POST", headers, body: "{}" }));
    expect((await ask({})).status).toBe(401);
    expect((await ask({ authorization: "Bearer wrong" })).status).toBe(401);
    expect((await ask({ authorization: `Bearer ${TOKEN}` })).status).toBe(201);
    const open = { token: "", newId: () => "s", machine: () => ({ fetch: async () => new Response("in") }) };
    const empty = new Request("http://s/v1/sandbox/s", { headers: { authorization: "Bearer " } });
    expect((await handle(empty, open)).status).toBe(401);
    expect((await wire(new Request("http://s/v1/health"))).status).toBe(200);
  });

  test("answers 404 no_sandbox for one that was never made, and starts nothing", async () => {
    const { wire, machines } = deploy();
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await wire(new Request("http://s/v1/sandbox/ghost/stat?path=/workspace", { headers }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "no_sandbox" } });
    expect(machines.get("ghost")?.container.started).toEqual([]);
  });

  test("keeps the files of a machine that nobody used, and brings them back", async () => {
    let now = 1_000_000;
    const { wire, machines } = deploy(() => now);
    const sandbox = await openProtocolSandbox(wire, "http://s", TOKEN);
    await sandbox.files.writeFile(`${sandbox.root}/f`, bytes("kept"));
    const mine = machines.get("s1");
    await mine?.machine.alarm();
    expect(mine?.container.running).toBe(true);
    now += IDLE_MS;
    await mine?.machine.alarm();
    expect(mine?.container.running).toBe(false);
    mine?.container.slowStart(2);
    expect(await read(sandbox, `${sandbox.root}/f`)).toBe("kept");
    expect(mine?.container.started).toMatchObject([
      { image: "registry.test/sandbox@sha256:0", enableInternet: false },
      { containerSnapshot: { id: "snapshot-1" }, enableInternet: false },
    ]);
  });

  test("does not stop a machine whose command still runs", async () => {
    let now = 1_000_000;
    const { wire, machines } = deploy(() => now);
    const sandbox = await openProtocolSandbox(wire, "http://s", TOKEN);
    const request = { command: "echo begun; read -r < gate", cwd: sandbox.root, env: {}, timeoutMs: 20_000 };
    await run(sandbox, "mkfifo gate");
    const events = sandbox.exec(request, new AbortController().signal)[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ type: "stdout" });
    now += 2 * IDLE_MS;
    await machines.get("s1")?.machine.alarm();
    expect(machines.get("s1")?.container.running).toBe(true);
    await run(sandbox, "echo go > gate");
    expect((await events.next()).value).toMatchObject({ type: "exit", exitCode: 0 });
  });

  test("forgets a sandbox that is deleted", async () => {
    const { wire, machines } = deploy();
    const sandbox = await openProtocolSandbox(wire, "http://s", TOKEN);
    await run(sandbox, "true");
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await wire(new Request("http://s/v1/sandbox/s1", { method: "DELETE", headers }))).status).toBe(204);
    expect(machines.get("s1")?.container.running).toBe(false);
    expect((await wire(new Request("http://s/v1/sandbox/s1/list?path=/workspace", { headers }))).status).toBe(404);
  });
});
