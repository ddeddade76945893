import { z } from "zod";
import type { McpServer } from "../contract/mcp.ts";
import type { Tool } from "../contract/tools.ts";
import type { Send } from "./bounded-fetch.ts";
import { callTool } from "./call-tool.ts";
import { dial, McpHandle } from "./dial.ts";
import { createInputCheck } from "./input-check.ts";
import { ListedTool, listTools } from "./list-tools.ts";
import { serverTools } from "./server-tools.ts";
import { SessionStream } from "./session-stream.ts";

/** How long a list is taken for the servers' own when another run begins, milliseconds; one with gaps not so long. */
const FRESH_MS = 5 * 60_000;
const GAPS_FRESH_MS = 30_000;
const LIST_MS = 10_000;

/** Without a handle where the session was ended: the next call opens another. */
const Known = z.object({ handle: McpHandle.optional(), tools: z.array(ListedTool) });
type Known = z.infer<typeof Known>;

/** What is remembered of the servers; plain data. `run` is the one the list belongs to. */
export const McpState = z.object({
  /** Which configuration it was made under. */
  config: z.string(),
  run: z.string(),
  at: z.number(),
  servers: z.record(z.string(), Known),
});
export type McpState = z.infer<typeof McpState>;

/** Where the state lies; synchronous. */
export type McpStore = { load(): McpState | undefined; save(state: McpState): void };

export type McpOptions = {
  /** With headers as they are sent. */
  readonly servers: readonly McpServer[];
  readonly send: Send;
  readonly store: McpStore;
  /** Milliseconds since the epoch. */
  now(): number;
  newTag(): string;
  /** What connecting and listing may take, milliseconds; 10 seconds when absent. */
  readonly listMs?: number;
  observe(name: string, data: Readonly<Record<string, string | number | boolean>>): void;
};

/** The MCP servers of a session (K-4). */
export type Mcp = {
  /**
   * All tools of all servers that answer, the same ones all through a run. A server that is silent for 10 seconds, or
   * broken, costs its own tools and a line for the operator. Never throws.
   */
  tools(run: string): Promise<readonly Tool[]>;
  /** A tool of the list as it was last; asks no server. */
  knownTool(name: string): Promise<Tool | undefined>;
  /** Ends the sessions at the servers. Never throws. */
  close(): Promise<void>;
};

/** State that lives as long as what holds it. */
export function createMemoryStore(): McpStore {
  let state: McpState | undefined;
  return {
    load: () => state,
    save: (next) => {
      state = next;
    },
  };
}

export function createMcp(options: McpOptions): Mcp {
  const { servers, store, now } = options;
  const config = JSON.stringify(servers.map(({ name, url, read_only_tools }) => ({ name, url, read_only_tools })));
  const { send, newTag, listMs = LIST_MS } = options;
  const streams = new Map(
    servers.map((server) => [server.name, new SessionStream(server, { send, newTag, timeoutMs: listMs })]),
  );
  const load = (): McpState | undefined => {
    const state = store.load();
    return state?.config === config ? state : undefined;
  };
  const learn = (name: string, handle: McpHandle): void => {
    const state = load();
    const known = state?.servers[name];
    if (state && known) store.save({ ...state, servers: { ...state.servers, [name]: { ...known, handle } } });
  };
  const made = async (state: McpState | undefined): Promise<Tool[]> => {
    if (!state) return [];
    const check = await createInputCheck();
    return servers.flatMap((server) => {
      const stream = streams.get(server.name);
      if (!stream) return [];
      const parts = {
        ...{ server, stream, send, newTag, now, handshakeMs: listMs },
        handle: () => load()?.servers[server.name]?.handle,
        opened: (handle: McpHandle) => learn(server.name, handle),
      };
      return serverTools(server, state.servers[server.name]?.tools ?? [], check, (tool, input, context) =>
        callTool(tool, input, context, parts),
      );
    });
  };
  return {
    async tools(run) {
      const state = load();
      const age = now() - (state?.at ?? 0);
      const whole = servers.every(({ name }) => state?.servers[name]);
      if (state && (state.run === run || age < (whole ? FRESH_MS : GAPS_FRESH_MS))) {
        if (state.run !== run) store.save({ ...state, run });
        return made(state);
      }
      const asked = await Promise.all(
        servers.map((server) => ask(server, state?.servers[server.name]?.handle, options)),
      );
      const next = { config, run, at: now(), servers: Object.fromEntries(asked.flat()) };
      store.save(next);
      return made(next);
    },
    knownTool: async (name) => (await made(load())).find((tool) => tool.name === name),
    async close() {
      const state = load();
      if (!state) return;
      const rest = Object.entries(state.servers).map(([name, { tools }]) => [name, { tools }] as const);
      store.save({ ...state, servers: Object.fromEntries(rest) });
      await Promise.all(servers.map((server) => hangUp(server, state.servers[server.name]?.handle, options)));
    },
  };
}

/** One server's handle and list; nothing when it does not answer in time. */
async function ask(server: McpServer, known: McpHandle | undefined, options: McpOptions): Promise<[string, Known][]> {
  const { send, newTag, observe, listMs = LIST_MS } = options;
  const signal = AbortSignal.timeout(listMs);
  const attempt = async (handle: McpHandle | undefined): Promise<[string, Known][]> => {
    const limits = { signal, timeoutMs: listMs };
    const link = await dial(server, handle, { ...limits, send, tag: newTag() });
    try {
      const { tools, left } = await listTools(link.client, limits);
      if (left > 0) observe("mcp_tools_left_out", { server: server.name, count: left });
      return [[server.name, { handle: link.handle, tools: [...tools] }]];
    } finally {
      await link.close();
    }
  };
  try {
    // A session that is known may be over; then a new one is tried within the same time.
    return known ? await attempt(known).catch(() => attempt(undefined)) : await attempt(undefined);
  } catch (error) {
    const why = error instanceof Error ? error.name : typeof error;
    const status = (error as { readonly status?: unknown } | null)?.status;
    observe("mcp_server_unavailable", {
      ...{ server: server.name, error: why, timed_out: signal.aborted },
      ...(typeof status === "number" ? { status } : {}),
    });
    return [];
  }
}

async function hangUp(server: McpServer, handle: McpHandle | undefined, { send, newTag }: McpOptions): Promise<void> {
  if (handle?.era !== "legacy" || handle.session === undefined) return;
  const signal = AbortSignal.timeout(2_000);
  const limited: Send = (url, init) =>
    send(url, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal });
  try {
    const link = await dial(server, handle, { send: limited, signal, timeoutMs: 2_000, tag: newTag() });
    await link.terminate();
  } catch {
    // The server forgets idle sessions by itself.
  }
}
