import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { MCP_TOOLS, type McpCall, runMcpTool } from "./scripted-mcp-tools.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages as they stand on the wire, looked into by tests
export type RpcMessage = any;

export type SeenMcp = {
  readonly verb: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RpcMessage;
};

/** What a session of the server remembers. */
export type McpSession = {
  readonly id: string;
  count: number;
  /** The stream of its own, where the client has opened one. */
  aside: ServerResponse | undefined;
  /** Ids of requests: the protocol forbids to use one twice. */
  readonly ids: Set<unknown>;
};

const PAGE = 5;

/**
 * An MCP server on loopback as of 2025-06-18, written from the wire's description and without the library that the product
 * uses. The path says how it behaves: `/sse` and `/json` keep sessions and answer in that form, `/plain` keeps none,
 * `/broken` answers 500, `/silent` never. `GET /__calls/<key>` tells the calls whose argument `key` is that one, for tests
 * inside workerd, `GET /__sessions` the sessions that are open.
 */
export class ScriptedMcp {
  readonly seen: SeenMcp[] = [];
  readonly calls: McpCall[] = [];
  readonly sessions = new Map<string, McpSession>();
  readonly #server: Server;
  /** So often the session's own stream is refused as taken. */
  busy = 0;
  /** Questions that are open, by the server's request id. */
  readonly #open = new Map<string, (answer: RpcMessage) => void>();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        if (!request.errored) console.error("scripted mcp server failed", error);
        response.destroy();
      });
    });
  }

  static async start(): Promise<ScriptedMcp> {
    const mcp = new ScriptedMcp();
    await new Promise<void>((resolve) => mcp.#server.listen(0, "127.0.0.1", resolve));
    return mcp;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  forget(): void {
    this.sessions.clear();
  }

  /** Asks the client something; over the call's stream, or over the session's own one. */
  ask(write: (message: RpcMessage) => void, params: unknown): Promise<RpcMessage> {
    const id = `q-${randomUUID()}`;
    return new Promise((resolve) => {
      this.#open.set(id, resolve);
      write({ jsonrpc: "2.0", id, method: "elicitation/create", params });
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const text = await readAll(request);
    if (path.startsWith("/__")) return this.#control(path, response);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
    const body = text === "" ? null : JSON.parse(text);
    this.seen.push({ verb: request.method ?? "", path, headers, body });
    if (path === "/broken") return end(response, 500, { error: "out of order" });
    if (path === "/silent") return;
    if (path === "/plain") return this.#answer(body, undefined, headers, response, false);
    const id = headers["mcp-session-id"];
    const known = id === undefined ? undefined : this.sessions.get(id);
    if (id !== undefined && !known) return end(response, 404, { error: "no such session" });
    if (request.method === "DELETE") {
      if (id !== undefined) this.sessions.delete(id);
      return end(response, 200, {});
    }
    if (request.method === "GET") {
      openAside(known, response, this.busy > 0);
      this.busy = Math.max(0, this.busy - 1);
      return;
    }
    if (body.method === "initialize") {
      const session = { id: randomUUID(), count: 0, aside: undefined, ids: new Set<unknown>() };
      this.sessions.set(session.id, session);
      response.setHeader("mcp-session-id", session.id);
      return this.#answer(body, session, headers, response, path === "/sse");
    }
    if (!known) return end(response, 400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "no session" } });
    return this.#answer(body, known, headers, response, path === "/sse");
  }

  async #answer(
    body: RpcMessage,
    session: McpSession | undefined,
    headers: Readonly<Record<string, string>>,
    response: ServerResponse,
    sse: boolean,
  ): Promise<void> {
    if (body.method === undefined) {
      this.#open.get(body.id)?.(body);
      this.#open.delete(body.id);
      return end(response, 202);
    }
    if (body.id === undefined) return end(response, 202);
    if (session?.ids.has(body.id)) return end(response, 400, { error: "an id was used twice" });
    session?.ids.add(body.id);
    if (body.method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const write = (message: RpcMessage): void =>
        void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      const call: McpCall = {
        tool: body.params.name,
        input: body.params.arguments ?? {},
        session: session?.id,
        headers,
        answers: [],
      };
      this.calls.push(call);
      const result = await runMcpTool(call, {
        server: this,
        session,
        id: body.id,
        token: body.params._meta?.progressToken,
        write,
      });
      if (result !== undefined) write({ jsonrpc: "2.0", id: body.id, ...result });
      if (result !== undefined || call.tool === "drop") response.end();
      return;
    }
    const answer = { jsonrpc: "2.0", id: body.id, ...plainAnswer(body) };
    if (!sse) return end(response, 200, answer);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`: hello\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
  }

  #control(path: string, response: ServerResponse): void {
    const key = decodeURIComponent(/^\/__calls\/(.+)$/.exec(path)?.[1] ?? "");
    const calls = this.calls.filter(({ input }) => input.key === key);
    end(response, 200, path === "/__sessions" ? [...this.sessions.keys()] : calls);
  }
}

function plainAnswer(body: RpcMessage): RpcMessage {
  switch (body.method) {
    case "initialize":
      return {
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "lab", version: "1" },
        },
      };
    case "ping":
      return { result: {} };
    case "tools/list": {
      const from = Number(body.params?.cursor ?? 0);
      const next = from + PAGE < MCP_TOOLS.length ? { nextCursor: String(from + PAGE) } : {};
      return { result: { tools: MCP_TOOLS.slice(from, from + PAGE), ...next } };
    }
    default:
      return { error: { code: -32601, message: "Method not found" } };
  }
}

function openAside(session: McpSession | undefined, response: ServerResponse, busy: boolean): void {
  if (!session || busy || (session.aside && !session.aside.destroyed)) {
    end(response, session ? 409 : 405, { error: "no stream, or one only" });
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  session.aside = response;
}

function end(response: ServerResponse, status: number, body?: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
