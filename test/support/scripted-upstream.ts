import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One HTTP request that reached the scripted model server. */
export type SeenRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of foreign wires, looked into by tests
  readonly body: any;
  /** The caller went away before the answer was whole. */
  aborted: boolean;
};

/** What the server does with one request. `chunks` are written one by one; `end` says how the body ends. */
export type Reply = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks: readonly string[];
  /** Pause between chunks, milliseconds. */
  readonly everyMs?: number;
  readonly end?: "close" | "abort" | "stall";
  /** Writes the body in pieces of so many bytes, wherever they fall in a character. */
  readonly splitBytes?: number;
};

type Script = {
  replies: Reply[];
  seen: SeenRequest[];
  byTurn?: boolean;
  /** Replies of several agents, by the prompt that opened their conversation. */
  agents?: Readonly<Record<string, readonly Reply[]>>;
};

/**
 * A model server on loopback that speaks whatever wire the script is written in. Scripts are named: a request is matched
 * by the script name in its key (`key-<script>`: x-api-key, bearer token or x-goog-api-key), so that tests that run side by
 * side never take each other's replies. The n-th request of a script gets its n-th reply; one too many gets a 500 that says so.
 * Control over HTTP for tests inside workerd: `PUT /__script/<name>` (JSON array of replies), `GET /__seen/<name>`.
 */
export class ScriptedUpstream {
  readonly #server: Server;
  readonly #scripts = new Map<string, Script>();

  private constructor() {
    this.#server = createServer((request, response) => {
      // A client that dies while it sends its body wants no answer any more, and must not end the test run.
      this.#handle(request, response).catch((error: unknown) => {
        if (!request.errored) console.error("scripted upstream failed", error);
        response.destroy();
      });
    });
  }

  static async start(): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream();
    await new Promise<void>((resolve) => upstream.#server.listen(0, "127.0.0.1", resolve));
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  script(name: string, replies: readonly Reply[]): void {
    this.#scripts.set(name, { replies: [...replies], seen: [] });
  }

  /** From now on the reply is chosen by how many assistant messages the request carries: a call made again gets it again. */
  replyByTurn(name: string): void {
    const script = this.#scripts.get(name);
    if (script) script.byTurn = true;
  }

  /** A script for several agents: the reply is chosen by the conversation's first words and its assistant messages. */
  scriptAgents(name: string, agents: Readonly<Record<string, readonly Reply[]>>): void {
    this.#scripts.set(name, { replies: [], seen: [], agents });
  }

  seen(name: string): readonly SeenRequest[] {
    return this.#scripts.get(name)?.seen ?? [];
  }

  /** Replies not asked for yet; a finished test expects none. */
  left(name: string): number {
    return this.#scripts.get(name)?.replies.length ?? 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    const body = await readAll(request);
    const control = /^\/__(script|agents|sticky|seen|left)\/(.+)$/.exec(path);
    if (control) return this.#control(control[1] ?? "", decodeURIComponent(control[2] ?? ""), body, response);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]));
    const key =
      headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization?.replace(/^Bearer /, "") ?? "";
    const script = this.#scripts.get(key.replace(/^key-/, ""));
    const seen: SeenRequest = { path, headers, body: body === "" ? null : JSON.parse(body), aborted: false };
    const reply = chosen(script, seen.body);
    script?.seen.push(seen);
    if (!reply) {
      response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { type: "test_error", message: "the script has no reply left" } }));
      return;
    }
    response.on("close", () => {
      if (!response.writableFinished) seen.aborted = true;
    });
    response.writeHead(reply.status ?? 200, { "content-type": "text/event-stream", ...reply.headers });
    for (const chunk of reply.splitBytes ? byteChunks(reply.chunks.join(""), reply.splitBytes) : reply.chunks) {
      if (response.destroyed) return;
      response.write(chunk);
      if (reply.everyMs) await new Promise((resolve) => setTimeout(resolve, reply.everyMs));
    }
    if (reply.end === "abort") response.destroy();
    else if (reply.end !== "stall") response.end();
  }

  #control(verb: string, name: string, body: string, response: ServerResponse): void {
    if (verb === "sticky") this.replyByTurn(name);
    if (verb === "script") this.script(name, JSON.parse(body) as Reply[]);
    if (verb === "agents") this.scriptAgents(name, JSON.parse(body) as Record<string, Reply[]>);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(verb === "left" ? this.left(name) : verb === "seen" ? this.seen(name) : null));
  }
}

function byteChunks(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

type Body = { messages?: { role: string; content: unknown }[] } | null;

function chosen(script: Script | undefined, body: Body): Reply | undefined {
  if (script?.agents) {
    const opening = JSON.stringify(body?.messages?.[0]?.content ?? "");
    const prompt = Object.keys(script.agents).find((each) => opening.includes(JSON.stringify(each).slice(1, -1)));
    return prompt === undefined ? undefined : script.agents[prompt]?.[assistantTurns(body)];
  }
  return script?.byTurn ? script.replies[assistantTurns(body)] : script?.replies.shift();
}

function assistantTurns(body: Body): number {
  return body?.messages?.filter((message) => message.role === "assistant").length ?? 0;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
