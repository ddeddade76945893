import type { Progress } from "@modelcontextprotocol/client";
import type { McpServer } from "../contract/mcp.ts";
import type { ToolContext, ToolOutcome } from "../contract/tools.ts";
import type { Send } from "./bounded-fetch.ts";
import { type DialOptions, dial, type McpHandle } from "./dial.ts";
import { failureOf, isLostSession } from "./failure.ts";
import { questionOf } from "./fields.ts";
import { loadClient } from "./library.ts";
import type { ListedTool } from "./list-tools.ts";
import { present } from "./present.ts";
import type { SessionStream } from "./session-stream.ts";

/** The engine limits the call; the library's own timer would run while a person is asked. The longest a timer can be. */
const NO_LIMIT_MS = 2 ** 31 - 1;
/** A server may tell its progress as often as it likes; each time is an event that is stored. */
const PROGRESS_MS = 100;

export type CallParts = {
  readonly server: McpServer;
  readonly send: Send;
  /** Names one call; never given twice. */
  readonly newTag: () => string;
  readonly handshakeMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Shared by all calls of the session. */
  readonly stream: SessionStream;
  /** The session calls are made in; undefined: there is none yet. */
  readonly handle: () => McpHandle | undefined;
  /** A new session was opened. */
  readonly opened: (handle: McpHandle) => void;
};

/** Calls a tool of a server, in a new session when the server has forgotten the old one. Throws only for an abort. */
export async function callTool(
  tool: ListedTool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
  parts: CallParts,
): Promise<ToolOutcome> {
  const library = await loadClient();
  for (let again = false; ; again = true) {
    const known = parts.handle() ?? (await open(context, parts).catch(() => undefined));
    context.signal.throwIfAborted();
    if (!known) return { content: `error: the MCP server ${parts.server.name} cannot be reached`, isError: true };
    try {
      return await once(tool, input, context, known, parts);
    } catch (error) {
      context.signal.throwIfAborted();
      if (again || !isLostSession(error, library)) return failureOf(error, parts.server.name, library);
    }
    // Other calls may have opened one meanwhile; only the lost one is put aside.
    if (parts.handle() === known) await open(context, parts).catch(() => undefined);
  }
}

async function open({ signal }: ToolContext, parts: CallParts): Promise<McpHandle> {
  const { server, send, newTag, handshakeMs } = parts;
  const link = await dial(server, undefined, { send, signal, timeoutMs: handshakeMs, tag: newTag() });
  await link.close();
  parts.opened(link.handle);
  return link.handle;
}

async function once(
  tool: ListedTool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
  known: McpHandle,
  { server, send, newTag, handshakeMs, stream, now }: CallParts,
): Promise<ToolOutcome> {
  const { signal } = context;
  const elicit: DialOptions["elicit"] = async (request, withdrawn) => {
    const question = questionOf(server.name, request);
    if (!question || !context.elicit) return { action: "decline" };
    const { action, content } = await context.elicit(question, withdrawn);
    return action === "accept" ? { action, content: content ?? {} } : { action };
  };
  let told = Number.NEGATIVE_INFINITY;
  const onprogress = (progress: Progress): void => {
    if (now() - told < PROGRESS_MS) return;
    told = now();
    context.progress(fraction(progress), progress.message ?? "");
  };
  const leave = await stream.join(known, elicit);
  const link = await dial(server, known, { send, signal, timeoutMs: handshakeMs, tag: newTag(), elicit });
  try {
    const result = await link.client.callTool(
      { name: tool.name, arguments: { ...input } },
      {
        signal,
        timeout: NO_LIMIT_MS,
        onprogress,
        // From it the library knows which arguments go into headers as well.
        toolDefinition: { name: tool.name, inputSchema: { ...tool.schema, type: "object" } },
      },
    );
    return present(result);
  } finally {
    await link.close();
    await leave();
  }
}

/** A server that knows no total has no fraction to tell. */
function fraction({ progress, total }: Progress): number {
  return total === undefined || total <= 0 ? 0 : progress / total;
}
