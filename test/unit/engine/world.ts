import { z } from "zod";
import type { EngineEvent } from "../../../src/contract/events.ts";
import type { Commit, Output } from "../../../src/contract/journal.ts";
import type { Entry, RunConfig } from "../../../src/contract/log.ts";
import type { ModelEvent, ModelProvider, ModelRequest } from "../../../src/contract/model.ts";
import type { PermissionPolicy } from "../../../src/contract/permission.ts";
import type { Sandbox } from "../../../src/contract/sandbox.ts";
import type { Tool, ToolContext, ToolOutcome } from "../../../src/contract/tools.ts";
import type { EngineDeps } from "../../../src/engine/deps.ts";
import { type DriveEnd, drive } from "../../../src/engine/drive.ts";
import type { SessionFold } from "../../../src/engine/log/fold.ts";
import { SessionTree } from "../../../src/engine/log/tree.ts";
import { Nudge } from "../../../src/engine/nudge.ts";
import { NOOP_GUARD } from "../../../src/secrets/guard/guard.ts";
import { createRedactor } from "../../../src/secrets/redactor/redactor.ts";

export const USAGE = { input: 10, output: 5, cache_read: 0, cache_write: 0 };

export function says(text: string, more: Partial<Extract<ModelEvent, { type: "finished" }>> = {}): ModelEvent[] {
  return [
    { type: "text_delta", text },
    { type: "block", block: { type: "text", text } },
    { type: "finished", stop: "end_turn", usage: USAGE, ...more },
  ];
}

export function calls(...list: { id: string; name: string; input: Record<string, unknown> }[]): ModelEvent[] {
  return [
    ...list.map((call): ModelEvent => ({ type: "block", block: { type: "tool_use", ...call } })),
    { type: "finished", stop: "tool_use", usage: USAGE },
  ];
}

/** A provider that plays a script, a reply a call. One call too many throws; `left` tells replies nobody asked for. */
export function scripted(replies: (ModelEvent[] | ((signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>))[]) {
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name: "scripted",
    async *stream(request, signal) {
      // The message list grows in place; keep what was there at the time of the call.
      requests.push({ ...request, messages: [...request.messages] });
      const reply = replies.shift();
      if (!reply) throw new Error("the script has no reply left");
      if (typeof reply === "function") yield* reply(signal);
      else for (const event of reply) yield [event];
    },
    models: () => [],
  };
  return { provider, requests, left: () => replies.length };
}

export type FakeToolOptions = {
  readonly readOnly?: boolean;
  readonly recovery?: "rerun" | "unknown";
  readonly run?: (input: { value?: string | undefined }, context: ToolContext) => Promise<ToolOutcome>;
};

/** A tool that counts its runs. */
export function fakeTool(name: string, options: FakeToolOptions = {}): Tool & { ran: string[] } {
  const ran: string[] = [];
  const input = z.object({ value: z.string().optional() });
  return {
    ran,
    name,
    description: name,
    input,
    metadata: {
      readOnly: options.readOnly ?? false,
      concurrencySafe: options.readOnly ?? false,
      destructive: false,
      searchHint: name,
      permissionClass: options.readOnly ? "readonly" : "generic",
      requiresCheckpoint: false,
      auditOperation: options.readOnly ? "read" : "invoke",
      recovery: options.recovery ?? (options.readOnly ? "rerun" : "unknown"),
    },
    resource: () => name,
    async run(raw, context) {
      const parsed = input.parse(raw);
      ran.push(parsed.value ?? "");
      return options.run?.(parsed, context) ?? { content: `${name}:${parsed.value ?? ""}`, isError: false };
    },
  };
}

export const ALLOW: PermissionPolicy = {
  check: async () => ({ decision: "allow", reason: "test", risk: "low" }),
};
export const ASK: PermissionPolicy = {
  check: async ({ metadata }) => ({ decision: metadata.readOnly ? "allow" : "ask", reason: "test", risk: "low" }),
};

const sandbox: Sandbox = {
  backend: "fake",
  root: "/workspace",
  files: {
    writeFile: async () => ({ ok: true, value: undefined }),
    realPath: async (path: string) => ({ ok: true, value: path }),
  } as unknown as Sandbox["files"],
  exec: () => {
    throw new Error("not in this test");
  },
};

export function config(more: Partial<RunConfig> = {}): RunConfig {
  return {
    run_id: "run_1",
    provider: "scripted",
    model: "m",
    max_turns: 10,
    stop_sequences: [],
    permission_mode: "default",
    actor_id: "",
    metadata: {},
    own_credentials: false,
    interactive: true,
    ...more,
  };
}

/** No prompt at all, so that the log holds the turns alone. */
export const NO_PROMPT: EngineDeps["prompt"] = {
  compose: async () => ({
    system: [],
    stored: { tie: "test", texts: {} },
    prefix: { tools: "", sections: [] },
    tokens: 0,
  }),
  compare: () => undefined,
};

export type World = {
  readonly log: Entry[];
  readonly events: EngineEvent[];
  readonly commits: Commit[];
  readonly deps: EngineDeps;
};

export function world(
  provider: ModelProvider,
  tools: Tool[],
  permission = ALLOW,
  more: Partial<EngineDeps> = {},
): World {
  let id = 0;
  const deps: EngineDeps = {
    sessionId: "s",
    provider,
    models: {
      info: (model) => ({
        id: model,
        display_name: model,
        provider: "scripted",
        context_window: 1000,
        max_output_tokens: 500,
        input_price_per_1m: 1,
        output_price_per_1m: 1,
        cache_read_price_per_1m: 0,
        cache_write_price_per_1m: 0,
        supports_caching: false,
        supports_thinking: false,
        supports_images: false,
      }),
      costNano: (_info, usage) => (usage.input + usage.output) * 1000,
    },
    tools: { get: (name) => tools.find((tool) => tool.name === name), list: () => tools },
    toolDefinitions: [],
    permission,
    sandbox,
    env: {},
    redactor: createRedactor({}),
    guard: NOOP_GUARD,
    fetch: () => Promise.reject(new Error("no network in this test")),
    prompt: NO_PROMPT,
    estimateTokens: (text) => Math.ceil(text.length / 4),
    strict: { toolResultPairing: false, compaction: false },
    spill: true,
    now: () => 1_000_000,
    delay: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          resolve();
        });
      }),
    newId: (prefix) => `${prefix}_${++id}`,
    limits: {
      maxOutputTokens: 500,
      permissionTimeoutMs: 300_000,
      toolOutputMaxBytes: 1024,
      toolTimeoutMs: 5_000,
      toolGraceMs: 1_000,
      maxParallelTools: 4,
      maxRestarts: 5,
      maxParallelModelCalls: 4,
      maxAgents: 64,
      permissionCheckMs: 1_000,
      compactAt: 0.8,
      fastCallMs: 1_000,
    },
    observe: () => undefined,
    ...more,
  };
  return { log: [], events: [], commits: [], deps };
}

export function begin(target: World, prompt: string, more: Partial<RunConfig> = {}): void {
  target.log.push({ kind: "run_started", config: config(more) });
  target.log.push({ kind: "user", content: [{ type: "text", text: prompt }] });
}

export function treeOf(target: World): SessionTree {
  const tree = new SessionTree("/workspace");
  for (const entry of target.log) tree.append(entry);
  return tree;
}

export function foldOf(target: World): SessionFold {
  return treeOf(target).root;
}

export class Stopped extends Error {}

/**
 * Drives the world's run as a host does: store, append, show. `stopAfter` lets the host die after so many commits of this
 * drive, as a crash after a stored step would.
 */
export async function run(
  target: World,
  options: { stopAfter?: number; signal?: AbortSignal; nudge?: Nudge } = {},
): Promise<DriveEnd> {
  const tree = treeOf(target);
  const signal = options.signal ?? new AbortController().signal;
  const steps = drive(tree, target.deps, options.nudge ?? new Nudge(), signal);
  let commits = 0;
  while (true) {
    const next = await steps.next();
    if (next.done) return next.value;
    take(target, tree, next.value);
    if (next.value.kind === "commit" && ++commits === options.stopAfter) throw new Stopped();
  }
}

function take(target: World, tree: SessionTree, output: Output): void {
  target.events.push(...output.events);
  if (output.kind === "live") return;
  target.commits.push(output);
  for (const entry of output.entries) {
    target.log.push(entry);
    tree.append(entry);
  }
}

export function types(target: World): string[] {
  return target.events.map((event) => event.type);
}
