import type { Client, ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { McpServer } from "../contract/mcp.ts";
import { boundedFetch, type Send } from "./bounded-fetch.ts";
import { CallTransport } from "./call-transport.ts";
import { loadClient } from "./library.ts";

/** What is kept of a server between calls, so that the next one needs no handshake. Plain data. */
export const McpHandle = z.discriminatedUnion("era", [
  /** A session of the server (2025-11-25 and before); without an id where the server keeps none. */
  z.object({ era: z.literal("legacy"), session: z.string().optional(), version: z.string().optional() }),
  /** What the server said of itself (from 2026-07-28 on); there are no sessions. */
  z.object({ era: z.literal("modern"), discover: z.record(z.string(), z.unknown()) }),
]);
export type McpHandle = z.infer<typeof McpHandle>;

/** A connection that is open. */
export type Link = {
  readonly client: Client;
  readonly handle: McpHandle;
  /** Ends the connection, not the session. Never throws. */
  close(): Promise<void>;
  /** Ends the session at the server, too. Never throws. */
  terminate(): Promise<void>;
};

export type DialOptions = {
  readonly send: Send;
  readonly signal: AbortSignal;
  /** For the handshake, milliseconds. */
  readonly timeoutMs: number;
  /** Tells this connection's requests from all others in the session. */
  readonly tag: string;
  /** Open the session's own stream as well; there may be one. */
  readonly stream?: boolean;
  /** Answers what the server asks; absent: everything is declined. */
  readonly elicit?: ((request: ElicitRequest, signal: AbortSignal) => Promise<ElicitResult>) | undefined;
};

/**
 * Opens a connection to a server, in the session of `known` when there is one. Throws what the library throws: the server
 * cannot be reached, or speaks no protocol that is known.
 */
export async function dial(server: McpServer, known: McpHandle | undefined, options: DialOptions): Promise<Link> {
  const library = await loadClient();
  const client = new library.Client(
    { name: "flyto-agent", version: "0.1.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", async (request, context) =>
    options.elicit ? options.elicit(request, context.mcpReq.signal) : { action: "decline" },
  );
  const session = known?.era === "legacy" ? known : undefined;
  const inner = new library.StreamableHTTPClientTransport(new URL(server.url), {
    fetch: boundedFetch(known ? options.send : withoutStream(options.send)),
    requestInit: { headers: server.headers ?? {} },
    ...(session?.session === undefined ? {} : { sessionId: session.session }),
    ...(session?.version === undefined ? {} : { protocolVersion: session.version }),
  });
  const transport = known ? new CallTransport(inner, options.tag, options.stream === true) : undefined;
  await client.connect(transport ?? inner, {
    signal: options.signal,
    timeout: options.timeoutMs,
    ...(known?.era === "modern" ? { prior: { kind: "modern", discover: known.discover as never } } : {}),
  });
  const close = async (): Promise<void> => {
    await transport?.sent();
    await client.close().catch(() => undefined);
  };
  return {
    client,
    handle: known ?? handleOf(client, inner.sessionId),
    close,
    async terminate() {
      await inner.terminateSession().catch(() => undefined);
      await close();
    },
  };
}

/** Who only shakes hands listens to nothing: the session's own stream is for the calls. */
function withoutStream(send: Send): Send {
  return async (url, init) => (init?.method === "GET" ? new Response(null, { status: 405 }) : send(url, init));
}

function handleOf(client: Client, session: string | undefined): McpHandle {
  const discover = client.getDiscoverResult();
  if (client.getProtocolEra() === "modern" && discover) return { era: "modern", discover: { ...discover } };
  const version = client.getNegotiatedProtocolVersion();
  return {
    era: "legacy",
    ...(session === undefined ? {} : { session }),
    ...(version === undefined ? {} : { version }),
  };
}
