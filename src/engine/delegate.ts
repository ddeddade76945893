import type { AgentConfig, AgentSpec, Delegation } from "../contract/agents.ts";
import { MAX_AGENT_DEPTH } from "../contract/agents.ts";
import type { EngineEvent } from "../contract/events.ts";
import type { Commit } from "../contract/journal.ts";
import type { Entry, RunConfig } from "../contract/log.ts";
import type { Result } from "../contract/result.ts";
import type { Tool } from "../contract/tools.ts";
import type { Agent, Step } from "./agent.ts";
import { ROOT_LOG } from "./agent-events.ts";
import { auditOf } from "./audit-entry.ts";
import { inboxText } from "./log/fold.ts";
import type { Call } from "./log/run-state.ts";
import { resultEvent, textResult } from "./tool-result.ts";

type Input = Readonly<Record<string, unknown>>;

/** The name of the session's own agent for those it has started. */
const LEAD = "lead";

/**
 * A call that is for other agents: starts them, or hands them a message; all of it in one commit, so that a crash leaves
 * either nothing or agents with a log of their own (K-3). True: there is somebody new to be driven.
 */
export async function* delegate(
  call: Call,
  tool: Tool,
  input: Input,
  reason: string,
  agent: Agent,
): AsyncGenerator<Step, boolean> {
  const wanted = await ask(tool, input, agent);
  let begun = false;
  // Ids, names and who is at work are looked up when the commit is stored, not before: other agents start some, too.
  const build = (): Commit => {
    const audit = [auditOf(tool, input, wanted.ok ? "allowed" : "error", wanted.ok ? reason : wanted.error, agent)];
    const done = wanted.ok ? carryOut(call, wanted.value, agent) : wanted;
    begun = done.ok;
    const says = done.ok ? done.value.says : `error: ${done.error}`;
    const result = says === undefined ? [] : [textResult(call.block.id, says, done.ok ? {} : { is_error: true })];
    return {
      kind: "commit",
      entries: [...(done.ok ? done.value.entries : []), ...result],
      events: [...(done.ok ? done.value.events : []), ...result.map((entry) => resultEvent(tool.name, entry))],
      audit,
    };
  };
  yield { kind: "late", build };
  return begun;
}

async function ask(tool: Tool, input: Input, { deps, fold, tree, signal }: Agent): Promise<Result<Delegation, string>> {
  if (!tool.delegate) return { ok: false, error: `${tool.name} starts no agents` };
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const late = deps.delay(deps.limits.toolTimeoutMs, both).then((): Result<Delegation, string> => {
    return { ok: false, error: `${tool.name} did not answer in time` };
  });
  const context = { signal: both, sandbox: deps.sandbox, facts: fold.facts, teammates: tree.teammates() };
  try {
    const answer = await Promise.race([late, tool.delegate(input, context)]);
    signal.throwIfAborted();
    return answer;
  } catch (error) {
    signal.throwIfAborted();
    deps.observe("tool_crashed", { tool: tool.name, error: error instanceof Error ? error.name : typeof error });
    return { ok: false, error: `${tool.name} failed inside` };
  } finally {
    over.abort();
  }
}

type Done = {
  readonly entries: readonly Entry[];
  readonly events: readonly EngineEvent[];
  /** The call's result; undefined: it waits for the agent. */
  readonly says: string | undefined;
};

function carryOut(call: Call, wanted: Delegation, agent: Agent): Result<Done, string> {
  return wanted.kind === "message" ? message(wanted.to, wanted.text, agent) : spawn(call, wanted.agents, agent);
}

function spawn(call: Call, specs: readonly AgentSpec[], agent: Agent): Result<Done, string> {
  const { tree, run, deps } = agent;
  if ((run.config.agent?.depth ?? 0) >= MAX_AGENT_DEPTH)
    return { ok: false, error: `agents nest at most ${MAX_AGENT_DEPTH} deep; do the work yourself` };
  if (tree.working().length + specs.length > deps.limits.maxAgents)
    return {
      ok: false,
      error: `at most ${deps.limits.maxAgents} agents may be at work at once; wait for some of them`,
    };
  const models = run.config.allowed_models;
  const forbidden = specs.find(({ model }) => model !== undefined && models && !models.includes(model))?.model;
  if (forbidden !== undefined) return { ok: false, error: `the model ${forbidden} may not be used here` };
  const taken = new Set([LEAD, ...tree.teammates().map(({ name }) => name)]);
  for (const { name } of specs) {
    if (name !== undefined && taken.has(name)) return { ok: false, error: `there is an agent named ${name} already` };
    if (name !== undefined) taken.add(name);
  }
  const made = specs.map((spec, i) => start(configOf(spec, `sa-${tree.agentCount + 1 + i}`, agent), spec.prompt));
  const own = made.length === 1 && !specs[0]?.background ? made[0] : undefined;
  const entries = made.flatMap((each) => each.entries);
  const events = made.map((each) => each.event);
  if (own) {
    const link: Entry = { kind: "delegated", call_id: call.block.id, agent_id: own.id };
    return { ok: true, value: { entries: [link, ...entries], events, says: undefined } };
  }
  const names = made.map((each, i) => specs[i]?.name ?? each.id).join(", ");
  const says = `Started in the background: ${names}. Go on with your work; what they end with reaches you as a message.`;
  return { ok: true, value: { entries, events, says } };
}

/** The sub-agent's run: the one that starts it, under its own name and limits. Prompt and tools stay the same (K-3). */
function configOf(spec: AgentSpec, id: string, { run, fold, id: parent, deps }: Agent): RunConfig {
  const { max_cost_usd: _budget, task: _task, agent: own, ...inherited } = run.config;
  const folder = own?.write_dir ?? spec.writeDir;
  const agent: AgentConfig = {
    id,
    ...(parent === undefined ? {} : { parent }),
    ...(spec.name === undefined ? {} : { name: spec.name }),
    depth: (own?.depth ?? 0) + 1,
    description: spec.description,
    ...narrowed(spec.tools, own?.tools),
    ...(folder === undefined ? {} : { write_dir: folder }),
    background: spec.background,
    ...(spec.whenIdle ? { when_idle: true } : {}),
    cwd: fold.facts.cwd,
    started_at: deps.now(),
  };
  return {
    ...inherited,
    permission_mode: run.mode,
    ...(spec.model === undefined ? {} : { model: spec.model }),
    max_turns: Math.min(spec.maxTurns ?? inherited.max_turns, inherited.max_turns),
    ...(spec.maxCostUsd === undefined ? {} : { max_cost_usd: spec.maxCostUsd }),
    agent,
  };
}

function start(config: RunConfig, prompt: string): { id: string; entries: Entry[]; event: EngineEvent } {
  const { agent, model } = config;
  if (!agent) throw new Error("a sub-agent's run names its agent");
  const { id, parent, description, cwd, started_at } = agent;
  const event: EngineEvent = {
    type: "subagent_start",
    subagent_id: id,
    ...(parent === undefined ? {} : { parent_id: parent }),
    ...(description === "" ? {} : { description }),
    ...(cwd === "" ? {} : { cwd }),
    ...(model === "" ? {} : { model }),
    start_time_ms: started_at,
  };
  const entries: Entry[] = [
    { kind: "run_started", agent: id, config },
    { kind: "user", agent: id, content: [{ type: "text", text: prompt }] },
  ];
  return { id, entries, event };
}

/** A message to another agent: one at work reads it with its next turn, one that has ended begins again with it. */
function message(to: string, text: string, agent: Agent): Result<Done, string> {
  const { tree, deps, run, id } = agent;
  const from = run.config.agent?.name ?? id ?? LEAD;
  const event: EngineEvent = { type: "teammate_message", from, to, text };
  const says = `Sent to ${to}.`;
  if (to === LEAD || to === "parent") {
    const parent = to === LEAD ? undefined : run.config.agent?.parent;
    const owner = parent === undefined ? {} : { agent: parent };
    if (id === undefined) return { ok: false, error: "you are the lead" };
    return {
      ok: true,
      value: { entries: [rootEntry({ kind: "inbox", from, text, ...owner })], events: [event], says },
    };
  }
  const mate = tree.find(to);
  if (mate === undefined) return { ok: false, error: `there is no agent named ${to}${known(agent)}` };
  if (mate === id) return { ok: false, error: "that is you" };
  if (tree.works(mate)) {
    return { ok: true, value: { entries: [{ kind: "inbox", agent: mate, from, text }], events: [event], says } };
  }
  const before = tree.foldOf(mate)?.run?.config;
  if (!before?.agent) return { ok: false, error: `${to} cannot be reached` };
  if (tree.working().length >= deps.limits.maxAgents)
    return {
      ok: false,
      error: `at most ${deps.limits.maxAgents} agents may be at work at once; wait for some of them`,
    };
  const begun = start(wakened(before, before.agent, agent), inboxText(from, text));
  return { ok: true, value: { entries: begun.entries, events: [event, begun.event], says } };
}

/** An agent that is woken works under the run that wakes it: its mode, rules, provider and actor, not those it had. */
function wakened(before: RunConfig, own: AgentConfig, { run, id, deps }: Agent): RunConfig {
  const { max_cost_usd: _budget, task: _task, agent: waker, ...inherited } = run.config;
  const { parent: _parent, ...kept } = own;
  const sameProvider = before.provider === run.config.provider;
  return {
    ...inherited,
    permission_mode: run.mode,
    model: sameProvider ? before.model : run.config.model,
    max_turns: Math.min(before.max_turns, run.config.max_turns),
    ...(before.max_cost_usd === undefined ? {} : { max_cost_usd: before.max_cost_usd }),
    agent: {
      ...kept,
      ...(id === undefined ? {} : { parent: id }),
      // It may do no more than the one who wakes it.
      ...(waker?.write_dir === undefined ? {} : { write_dir: waker.write_dir }),
      ...narrowed(own.tools, waker?.tools),
      started_at: deps.now(),
    },
  };
}

/** Tools both sides allow; a side that names none allows all. */
function narrowed(a: readonly string[] | undefined, b: readonly string[] | undefined): { tools?: string[] } {
  if (!a && !b) return {};
  if (!a || !b) return { tools: [...(a ?? b ?? [])] };
  return { tools: a.filter((tool) => b.includes(tool)) };
}

/** An entry of the root's log although a sub-agent writes it. */
function rootEntry(entry: Entry): Entry {
  return entry.agent === undefined ? { ...entry, agent: ROOT_LOG } : entry;
}

function known({ tree }: Agent): string {
  const names = tree.teammates().map(({ name }) => name);
  return names.length === 0 ? "; you have no teammates" : `; there are ${names.join(", ")}`;
}
