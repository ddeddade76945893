import { randomUUID } from "node:crypto";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ToolContext } from "../../../src/contract/tools.ts";
import { lab, use } from "./world.ts";

const SERVERS = [{ name: "official", url: "http://official.test/mcp" }];
const elicit: ToolContext["elicit"] = async ({ fields }) =>
  fields.map(({ name }) => name).join() === "name"
    ? { action: "accept", content: { name: "Ada" } }
    : { action: "cancel" };

function withAdd(server: McpServer): McpServer {
  server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}

/** A server of 2026-07-28: no sessions, questions are answers that want another round. */
function modern() {
  const handler = createMcpHandler(() => {
    const server = withAdd(new McpServer({ name: "official", version: "1" }));
    server.registerTool("greet", {}, (context) => {
      const told = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, "who");
      if (told) return { content: [{ type: "text", text: `hello ${told.name}` }] };
      const requestedSchema = z.object({ name: z.string() });
      return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "who?", requestedSchema }) } });
    });
    return server;
  });
  const seen: Request[] = [];
  return {
    seen,
    send: async (url: string | URL, init?: RequestInit) => {
      const request = new Request(url, init);
      seen.push(request.clone());
      return handler.fetch(request);
    },
  };
}

/** A server of 2025-11-25 with sessions; `aside`: it asks over the session's stream, not the call's. */
function withSessions(aside: boolean) {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = withAdd(new McpServer({ name: "official", version: "1" }));
    server.registerTool("greet", {}, async (context) => {
      const requestedSchema = { type: "object", properties: { name: { type: "string" } } } as const;
      const question = { mode: "form", message: "who?", requestedSchema } as const;
      const told = aside ? await server.server.elicitInput(question) : await context.mcpReq.elicitInput(question);
      return { content: [{ type: "text", text: `hello ${told.content?.name}` }] };
    });
    await server.connect(transport);
    return transport;
  };
  return {
    sessions,
    send: async (url: string | URL, init?: RequestInit) => {
      const request = new Request(url, init);
      const id = request.headers.get("mcp-session-id");
      const known = id === null ? await open() : sessions.get(id);
      return known ? abortable(await known.handleRequest(request), init?.signal) : new Response(null, { status: 404 });
    },
  };
}

/** An answer whose body ends for the server, too, when the client lets go of it, as a connection would. */
function abortable(response: Response, signal: AbortSignal | null | undefined): Response {
  if (!response.body || !signal) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      signal.addEventListener("abort", () => {
        controller.error(signal.reason);
        void reader.cancel();
      }),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, response);
}

describe("the protocol's own server agrees with the client", () => {
  // spec: K-4 D-3
  test("as of 2026-07-28: lists, calls, asks in rounds", async () => {
    const { send, seen } = modern();
    const tools = await lab(SERVERS, { send }).mcp.tools("run_1");
    expect(await use(tools, "mcp__official__add", { a: 2, b: 3 })).toEqual({ content: "5", isError: false });
    expect(await use(tools, "mcp__official__greet", {}, { elicit })).toEqual({ content: "hello Ada", isError: false });
    expect(seen.every(({ headers }) => headers.get("mcp-session-id") === null)).toBe(true);
    expect(seen.at(-1)?.headers.get("mcp-protocol-version")).toBe("2026-07-28");
  });

  test.each([false, true])("as of 2025-11-25, with sessions (questions aside: %s)", async (aside) => {
    const { send, sessions } = withSessions(aside);
    const { mcp } = lab(SERVERS, { send });
    const tools = await mcp.tools("run_1");
    expect(await use(tools, "mcp__official__add", { a: 2, b: 3 })).toEqual({ content: "5", isError: false });
    const both = await Promise.all([
      use(tools, "mcp__official__add", { a: 1, b: 1 }),
      use(tools, "mcp__official__add", { a: 2, b: 2 }),
    ]);
    expect(both.map(({ content }) => content)).toEqual(["2", "4"]);
    expect(await use(tools, "mcp__official__greet", {}, { elicit })).toEqual({ content: "hello Ada", isError: false });
    await mcp.close();
    expect(sessions.size).toBe(0);
  });
});
