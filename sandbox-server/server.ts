import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { CreateSandbox, ExecBody, REMOTE_ROOT, SandboxId } from "../src/contract/sandbox-protocol.ts";
import { readBody, sendError, sendJson } from "./answers.ts";
import { isAuthorized } from "./auth.ts";
import { type Machine, serveExec } from "./exec-route.ts";
import { parseJson, serveFile, serveFolder } from "./file-routes.ts";
import type { Workspace, Workspaces } from "./workspaces.ts";

type Call = {
  readonly machine: Machine;
  readonly workspaces: Workspaces;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Decoded parts of the path after `/v1`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
};

/** The protocol of `docs/sandbox-protocol.yaml` over HTTP. */
export function makeServer(machine: Machine, workspaces: Workspaces): Server {
  const server = createServer((request, response) => {
    // Of an answer that nobody waits for any more nothing needs to be known.
    response.on("error", () => {});
    void serve(machine, workspaces, request, response).catch((error) => {
      console.error("call failed:", error);
      sendError(response, "unavailable", "the call failed");
    });
  });
  // A command may be silent for ten minutes; a client that sends its request slowly may not take so long.
  server.requestTimeout = 120_000;
  server.headersTimeout = 20_000;
  return server;
}

async function serve(
  machine: Machine,
  workspaces: Workspaces,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = "", search = ""] = (request.url ?? "").split("?", 2);
  if (path === "/v1/health" && request.method === "GET") {
    return sendJson(response, 200, { ok: true, isolation: machine.isolation });
  }
  if (!isAuthorized(request.headers.authorization, machine.settings.token)) {
    return sendError(response, "unauthorized", "the bearer token is missing or wrong");
  }
  const parts = decode(path);
  if (parts?.[0] !== "v1" || parts[1] !== "sandbox") return sendError(response, "no_route", "no such route");
  const call = { machine, workspaces, request, response, parts: parts.slice(2), query: new URLSearchParams(search) };
  const [id] = call.parts;
  if (id === undefined) return await create(call);
  const workspace = SandboxId.safeParse(id).success ? await workspaces.find(id) : undefined;
  if (!workspace) return sendError(response, "no_sandbox", "there is no such sandbox: create it first");
  return await serveSandbox(call, workspace);
}

async function create({ request, response, machine, workspaces }: Call): Promise<void> {
  if (request.method !== "POST") return sendError(response, "no_route", "no such route");
  const body = CreateSandbox.safeParse(parseJson(await readBody(request, machine.settings.maxBodyBytes)));
  if (!body.success) return sendError(response, "invalid", "the body must be {id?, max_bytes?}");
  const { id = randomUUID(), max_bytes = machine.settings.maxDiskBytes } = body.data;
  const made = await workspaces.create(id, max_bytes);
  if (made === "full") return sendError(response, "busy", "the server has as many sandboxes as it may");
  sendJson(response, made.created ? 201 : 200, { id, root: REMOTE_ROOT, created: made.created });
}

async function serveSandbox(call: Call, workspace: Workspace): Promise<void> {
  const { request, response, machine, query, parts } = call;
  const [id = "", operation, ...rest] = parts;
  const route = `${request.method} ${operation ?? ""}`;
  if (route === "DELETE ") {
    await call.workspaces.remove(id);
    response.writeHead(204).end();
    return;
  }
  if (route === "POST exec" && rest.length === 0) {
    const text = await readBody(request, machine.settings.maxBodyBytes);
    if (!text)
      return sendError(response, "too_large", `the body is longer than ${machine.settings.maxBodyBytes} bytes`);
    const body = ExecBody.safeParse(parseJson(text));
    if (body.success) return await serveExec(machine, workspace, body.data, response);
    const where = body.error.issues[0]?.path.join(".") ?? "";
    return sendError(response, "invalid", `the body does not fit: ${where} ${body.error.issues[0]?.message}`);
  }
  if (route === "DELETE exec" && rest.length === 1) {
    workspace.execs.get(rest[0] ?? "")?.abort();
    response.writeHead(204).end();
    return;
  }
  const { maxFileBytes, maxBodyBytes } = machine.settings;
  const { mounts, uid, usage } = workspace;
  const files = { request, response, query, space: { mounts, uid, usage, maxFileBytes }, maxBodyBytes };
  if (operation === "file") return await serveFile(files, `/${rest.join("/")}`);
  if (rest.length === 0 && (await serveFolder(files, operation ?? ""))) return;
  sendError(response, "no_route", "no such route");
}

/** The parts of a path; undefined when it is not well encoded. */
function decode(path: string): string[] | undefined {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
