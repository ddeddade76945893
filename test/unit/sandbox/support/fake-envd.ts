import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFakeFilesystem } from "./fake-envd-files.ts";
import { createFakeProcesses } from "./fake-envd-process.ts";

/** One machine of the fake; all share this machine's files and differ in their token only. */
type Machine = { readonly id: string; readonly token: string; state: "running" | "paused"; endsInSeconds: number };

export type FakeEnvd = {
  /** Control plane and envd at once, as with the vendor's own `E2B_API_URL` and `E2B_SANDBOX_URL`. */
  readonly url: string;
  readonly apiKey: string;
  readonly machines: Map<string, Machine>;
  /** Every call, in order: `POST /sandboxes`, `process.Process/Start` … */
  readonly calls: string[];
  /** A folder of this machine for workspaces. */
  readonly home: string;
  /** Bytes the workspaces may hold from now on. */
  limit(maxBytes: number | undefined): void;
  /** From now on accepts calls and never answers those whose name begins so. */
  silence(prefix: string | undefined): void;
  close(): Promise<void>;
};

/**
 * E2B's control plane and `envd` as their documentation and source say (github.com/e2b-dev/infra, `packages/envd`), with
 * real processes and files of this machine. A second reading of the same pages, not the service.
 */
export async function startFakeEnvd(): Promise<FakeEnvd> {
  const home = await mkdtemp(join(tmpdir(), "fake-envd-"));
  const machines = new Map<string, Machine>();
  const calls: string[] = [];
  const state = { limit: undefined as number | undefined, silent: undefined as string | undefined };
  const room = { home, limit: () => state.limit };
  const files = createFakeFilesystem(room);
  const processes = createFakeProcesses(room);
  const apiKey = "e2b_test_key";
  const control = controlPlane(machines, apiKey);

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    // The vendor's newest client says `/v2/sandboxes`; both stand in its API's pages.
    const name = url.pathname.replace(/^\/(?=process\.|filesystem\.)/, "").replace(/^\/v2(?=\/sandboxes)/, "");
    const said = name.startsWith("/") ? `${request.method} ${name}` : name;
    calls.push(said);
    if (state.silent !== undefined && said.startsWith(state.silent)) return;
    if (name.startsWith("/sandboxes")) return control(request, response, name);
    const machine = machines.get(String(request.headers["e2b-sandbox-id"]));
    if (machine?.state !== "running") {
      return json(response, 502, { sandboxId: machine?.id, message: "The sandbox was not found", code: 502 });
    }
    if (request.headers["x-access-token"] !== machine.token) {
      return json(response, 401, { code: 401, message: "unauthorized access, please provide a valid access token" });
    }
    if (name === "/files") return files.transfer(request, response, url);
    // Signals and input need no user, whoever may start processes.
    const needsUser = name === "process.Process/Start" || name.startsWith("filesystem.");
    if (needsUser && request.headers.authorization !== `Basic ${btoa("user:")}`) {
      return json(response, 401, { code: "unauthenticated", message: "no user specified" });
    }
    if (name.startsWith("process.")) return processes.handle(request, response, name);
    return files.handle(request, response, name);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    apiKey,
    machines,
    calls,
    home,
    limit: (maxBytes) => {
      state.limit = maxBytes;
    },
    silence: (prefix) => {
      state.silent = prefix;
    },
    async close() {
      processes.killAll();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(home, { recursive: true, force: true });
    },
  };
}

function controlPlane(machines: Map<string, Machine>, apiKey: string) {
  const shown = ({ id, token, state }: Machine) => ({
    ...{ templateID: "base", sandboxID: id, clientID: "x", envdVersion: "0.6.4", envdAccessToken: token, state },
  });
  return async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (request.headers["x-api-key"] !== apiKey) return json(response, 401, { code: 401, message: "Invalid API key" });
    const [, , id, verb] = path.split("/");
    const body = await readJson(request);
    if (id === undefined) {
      if (typeof body.templateID !== "string") return json(response, 400, { code: 400, message: "no template" });
      const made: Machine = {
        ...{ id: `sbx${machines.size + 1}`, token: crypto.randomUUID(), state: "running", endsInSeconds: 0 },
      };
      made.endsInSeconds = Number(body.timeout);
      machines.set(made.id, made);
      return json(response, 201, shown(made));
    }
    const machine = machines.get(id);
    if (!machine) return json(response, 404, { code: 404, message: `Sandbox "${id}" not found` });
    if (request.method === "DELETE") {
      machines.delete(id);
      response.writeHead(204).end();
      return;
    }
    if (request.method === "GET") return json(response, 200, shown(machine));
    machine.endsInSeconds = Number(body.timeout);
    if (verb === "timeout") {
      response.writeHead(204).end();
      return;
    }
    const woken = machine.state === "paused";
    machine.state = "running";
    return json(response, woken ? 201 : 200, shown(machine));
  };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** The fields of a JSON body; of an empty one none. */
export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = (await readBytes(request)).toString();
  return text === "" ? {} : JSON.parse(text);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
