import {
  CreateSandbox,
  ExecBody,
  MAX_WALK_ENTRIES,
  MkdirBody,
  REMOTE_ROOT,
} from "../../src/contract/sandbox-protocol.ts";
import { refuse } from "./answers.ts";
import type { ContainerBinding, Instance, MachineStorage, Snapshot } from "./binding.ts";
import { serveExec } from "./exec.ts";
import { createFileRoutes } from "./files.ts";

export type MachineOptions = {
  readonly container: ContainerBinding;
  readonly storage: MachineStorage;
  readonly allowInternet: boolean;
  readonly instance: Instance;
  readonly idleMs: number;
  readonly now: () => number;
  /** Resolves after so many milliseconds, or at once when the signal aborts. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** What is kept of a sandbox while its machine is stopped. */
type Kept = { readonly id: string; readonly max_bytes?: number | undefined; readonly snapshot?: Snapshot | undefined };

export type Machine = {
  fetch(request: Request): Promise<Response>;
  /** Stops a machine nobody used for a while, files kept. */
  alarm(): Promise<void>;
};

/** A machine starts in a few seconds; it is asked so often, and so far apart, whether it does. */
const START_TRIES = 100;
const START_PAUSE_MS = 300;

/**
 * One sandbox: a container that is started when it is needed and stopped when it is not, its files kept as a snapshot
 * between. Not proven against the real service. spec: X-4
 */
export function createMachine(options: MachineOptions): Machine {
  const { container, storage } = options;
  const execs = new Map<string, AbortController>();
  let starting: Promise<void> | undefined;
  let usedAt = 0;

  async function start(): Promise<void> {
    const kept = await storage.get<Kept>("sandbox");
    const common = { enableInternet: options.allowInternet, instance: options.instance };
    if (!container.running) {
      const image = container.images.sandbox ?? "";
      container.start(
        kept?.snapshot ? { ...common, containerSnapshot: { id: kept.snapshot.id } } : { ...common, image },
      );
    }
    for (let tries = 1; ; tries++) {
      const ready = container.exec(["/bin/true"]).then((process) => process.exitCode);
      const code = await ready.catch((error: unknown) => error);
      if (code === 0) return;
      if (tries === START_TRIES) throw new Error(`the container did not start: ${String(code)}`);
      await options.delay(START_PAUSE_MS, new AbortController().signal);
    }
  }

  /** Marks a use and waits until commands can run. */
  async function wake(): Promise<void> {
    usedAt = options.now();
    await storage.setAlarm(usedAt + options.idleMs);
    if (starting === undefined || !container.running) {
      const mine = start();
      starting = mine;
      mine.catch(() => {
        if (starting === mine) starting = undefined;
      });
    }
    await starting;
  }

  async function create(request: Request): Promise<Response> {
    const { id = "", max_bytes } = CreateSandbox.parse(await request.json());
    const existed = (await storage.get<Kept>("sandbox")) !== undefined;
    if (!existed) await storage.put("sandbox", { id, max_bytes } satisfies Kept);
    return Response.json({ id, root: REMOTE_ROOT, created: !existed }, { status: existed ? 200 : 201 });
  }

  async function route(request: Request, kept: Kept): Promise<Response> {
    const url = new URL(request.url);
    const [operation = "", ...rest] = url.pathname.split("/").slice(1).map(decodeURIComponent);
    const name = `${request.method} ${operation}`;
    if (name === "DELETE " && rest.length === 0) {
      for (const each of execs.values()) each.abort();
      if (container.running) await container.destroy();
      await storage.deleteAll();
      return new Response(null, { status: 204 });
    }
    if (name === "DELETE exec" && rest.length === 1) {
      execs.get(rest[0] ?? "")?.abort();
      return new Response(null, { status: 204 });
    }
    const maxBytes = kept.max_bytes;
    const files = createFileRoutes(container, maxBytes);
    const path = url.searchParams.get("path") ?? "";
    await wake();
    switch (name) {
      case "POST exec": {
        const body = ExecBody.safeParse(await request.json().catch(() => undefined));
        if (!body.success) return refuse("invalid", `the body does not fit: ${body.error.issues[0]?.message}`);
        if (execs.has(body.data.exec_id)) return refuse("exists", "this exec_id is running already");
        return serveExec({ container, execs, maxBytes, delay: options.delay, used: wake }, body.data);
      }
      case "GET file":
        return files.read(`/${rest.join("/")}`);
      case "PUT file":
        return files.write(`/${rest.join("/")}`, request);
      case "DELETE file":
        return files.remove(`/${rest.join("/")}`, url.searchParams.get("recursive") === "true");
      case "GET stat":
        return files.stat(path, url.searchParams.get("follow") !== "false");
      case "GET list":
        return files.list(path);
      case "GET walk": {
        const limit = Number(url.searchParams.get("limit") ?? MAX_WALK_ENTRIES);
        return files.walk(path, Number.isInteger(limit) && limit >= 0 ? Math.min(limit, MAX_WALK_ENTRIES) : 0);
      }
      case "GET realpath":
        return files.realPath(path);
      case "POST mkdir": {
        const body = MkdirBody.safeParse(await request.json().catch(() => undefined));
        return body.success ? files.mkdir(body.data.path) : refuse("invalid", "the body must be {path}");
      }
      default:
        return refuse("no_route", "no such route");
    }
  }

  return {
    async fetch(request) {
      try {
        if (new URL(request.url).pathname === "/create") return await create(request);
        const kept = await storage.get<Kept>("sandbox");
        if (kept === undefined) return refuse("no_sandbox", "there is no such sandbox: create it first");
        return await route(request, kept);
      } catch (error) {
        console.error("call failed:", error);
        return refuse("unavailable", "the call failed");
      }
    },
    async alarm() {
      if (!container.running) return;
      const idleAt = usedAt + options.idleMs;
      if (execs.size > 0 || options.now() < idleAt) {
        await storage.setAlarm(Math.max(idleAt, options.now() + options.idleMs));
        return;
      }
      const kept = await storage.get<Kept>("sandbox");
      if (kept)
        await storage.put("sandbox", { ...kept, snapshot: await container.snapshotContainer({ name: kept.id }) });
      starting = undefined;
      await container.destroy();
    },
  };
}
