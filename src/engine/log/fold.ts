import type { ElicitationAnswer } from "../../contract/elicitation.ts";
import type { SessionFacts } from "../../contract/facts.ts";
import type { Entry, EntryOf } from "../../contract/log.ts";
import type { Message, ToolResultBlock } from "../../contract/messages.ts";
import { NO_USAGE, type Usage } from "../../contract/model.ts";
import type { CachePrefix } from "../../contract/prompt-parts.ts";
import { type ContextCut, contextOf, NO_CUT } from "./context-view.ts";
import { addUsage, type Call, type CallPhase, type RunState } from "./run-state.ts";

export const OUTCOME_UNKNOWN =
  "error: the tool was started, but the engine was interrupted before its result was stored. Whether it took effect is unknown; check before you repeat it.";

const NEVER_RAN = "error: the run ended before the tool was started; nothing was done.";

/** What a provider counted: input tokens, those in its cache, and how many messages they were. */
export type Measured = { readonly tokens: number; readonly cached: number; readonly messages: number };

/**
 * The state of one agent, folded entry by entry from its log. Appending is the only way to change it, so a session that
 * is loaded again from the same log is the same session.
 */
export class SessionFold {
  #run: RunState | undefined;
  readonly #messages: Message[] = [];
  readonly #filesSeen = new Map<string, string>();
  #cwd: string;
  #todos: SessionFacts["todos"] = [];
  #repairs = 0;
  #untold = 0;
  #cut: ContextCut = NO_CUT;
  #context: { readonly of: number; readonly view: readonly Message[] } | undefined;
  /** Denials in a row, by call. */
  readonly #denials = new Map<string, number>();
  #inbox: EntryOf<"inbox">[] = [];
  /** Places of the messages that the user (or whoever started the agent) wrote. */
  readonly #prompts: number[] = [];
  #lastCompaction: { readonly before: number; readonly after: number } | undefined;
  #prefix: CachePrefix | undefined;
  /** Input tokens the provider counted, and for how many messages. */
  #measured: Measured | undefined;

  constructor(root: string) {
    this.#cwd = root;
  }

  /** The newest run; undefined in a session that had none. */
  get run(): RunState | undefined {
    return this.#run;
  }

  /** The whole conversation; each message object is made once and never changed. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** The conversation as the model is to see it: without what was compacted away. */
  get context(): readonly Message[] {
    if (this.#cut === NO_CUT) return this.#messages;
    if (this.#context?.of !== this.#messages.length)
      this.#context = { of: this.#messages.length, view: contextOf(this.#messages, this.#cut) };
    return this.#context.view;
  }

  get cut(): ContextCut {
    return this.#cut;
  }

  /** What the provider counted for the context as it was after so many messages; undefined since the last compaction. */
  get measured(): Measured | undefined {
    return this.#measured;
  }

  /** What of the prompt a provider may have cached for this agent. */
  get prefix(): CachePrefix | undefined {
    return this.#prefix;
  }

  /** Tokens before and after the newest compaction. */
  get lastCompaction(): { readonly before: number; readonly after: number } | undefined {
    return this.#lastCompaction;
  }

  /** The newest request before a place in the conversation, and where it stands; messages of other agents are none. */
  promptBefore(place: number): { readonly text: string; readonly at: number } | undefined {
    const at = this.#prompts.findLast((each) => each < place);
    const message = at === undefined ? undefined : this.#messages[at];
    if (at === undefined || !message) return undefined;
    return { at, text: message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n") };
  }

  /** Messages that the next turn will bring to the model. */
  get inbox(): readonly EntryOf<"inbox">[] {
    return this.#inbox;
  }

  /** How often this call was denied in a row. */
  denialsOf(tool: string, input: Readonly<Record<string, unknown>>): number {
    return this.#denials.get(callKey(tool, input)) ?? 0;
  }

  get facts(): SessionFacts {
    return { cwd: this.#cwd, filesSeen: this.#filesSeen, todos: this.#todos };
  }

  /** Tool calls that had no result when their run was left behind and were given one (T-2). */
  get repairs(): number {
    return this.#repairs;
  }

  /** Those of them that came since the last turn began. */
  get newRepairs(): number {
    return this.#untold;
  }

  append(entry: Entry): void {
    switch (entry.kind) {
      case "run_started":
        this.#pairUp();
        this.#run = newRun(entry);
        return;
      case "user":
        this.#prompts.push(this.#messages.length);
        this.#messages.push({ role: "user", content: entry.content });
        return;
      case "forked":
        return;
      case "inbox":
        this.#inbox.push(entry);
        return;
      default:
        if (this.#run) this.#run = this.#applyToRun(this.#run, entry);
    }
  }

  #applyToRun(run: RunState, entry: Exclude<Entry, { kind: "run_started" | "user" | "forked" | "inbox" }>): RunState {
    switch (entry.kind) {
      case "turn_started":
        this.#deliver();
        this.#untold = 0;
        return { ...run, ...FRESH_TURN, turn: entry.turn, call: "open" };
      case "turn_restarted":
        return { ...run, call: "open", turnRestarts: run.turnRestarts + 1 };
      case "call_failed":
        return spent(run, entry.usage, entry.cost_nano);
      case "assistant":
        this.#measure(entry);
        this.#messages.push({ role: "assistant", content: entry.content });
        return answered(run, entry);
      case "compacted":
        this.#cut = { summarized: entry.summarized, trimmed: entry.trimmed, summary: entry.summary };
        this.#lastCompaction = { before: entry.tokens_before, after: entry.tokens_after };
        this.#context = undefined;
        this.#measured = undefined;
        return spent({ ...run, compactions: run.compactions + 1 }, entry.usage, entry.cost_nano);
      case "classified": {
        const at = { phase: "classified", allow: entry.decision === "allow", reason: entry.reason } as const;
        return spent(phase(run, entry.call_id, at), entry.usage, entry.cost_nano);
      }
      case "prompt_composed":
        this.#prefix = entry.prefix;
        return run;
      case "delegated":
        return phase(run, entry.call_id, { phase: "delegated", agentId: entry.agent_id });
      case "decision_asked":
        if (entry.decision_kind === "elicitation") return asking(run, entry.call_id, entry.decision_id, undefined);
        return phase(run, entry.call_id, {
          phase: "asked",
          kind: entry.decision_kind,
          decisionId: entry.decision_id,
          deadline: entry.deadline,
          input: entry.input,
        });
      case "decision_settled":
        return this.#settle(run, entry);
      case "tool_started":
        return phase(run, entry.call_id, { phase: "started", input: entry.input ?? inputOf(run, entry.call_id) });
      case "tool_finished":
        this.#learn(entry);
        this.#countDenial(run, entry);
        return phase(run, entry.call_id, { phase: "finished", result: entry });
      case "turn_ended":
        this.#pushResults(run);
        return { ...run, turnEnded: true, resumes: 0 };
      case "run_resumed":
        return { ...run, resumes: run.resumes + 1 };
      case "cancel":
        return { ...run, cancelled: entry.reason };
      case "run_ended":
        if (!run.turnEnded) this.#pushResults(run);
        return { ...run, turnEnded: true, outcome: entry.outcome };
      default:
        return entry satisfies never;
    }
  }

  #settle(run: RunState, entry: EntryOf<"decision_settled">): RunState {
    const asked = run.calls.find((call) => call.block.id === entry.call_id)?.at;
    if (asked?.phase === "started")
      return asking(run, entry.call_id, entry.decision_id, entry.elicitation ?? { action: "cancel" });
    const kind = asked?.phase === "asked" ? asked.kind : "permission";
    const shown = asked?.phase === "asked" ? asked.input : inputOf(run, entry.call_id);
    const mode = kind === "plan_approval" && entry.allow ? (run.config.mode_after_plan ?? run.mode) : run.mode;
    return phase({ ...run, mode }, entry.call_id, {
      phase: "answered",
      kind,
      by: entry.by,
      allow: entry.allow,
      reason: entry.reason,
      input: entry.updated_input ?? shown,
      rewritten: entry.updated_input !== undefined,
    });
  }

  /** What came in meanwhile is a message of its own, before the turn that answers it. */
  #deliver(): void {
    if (this.#inbox.length === 0) return;
    const content = this.#inbox.map(({ from, text }) => ({ type: "text" as const, text: inboxText(from, text) }));
    this.#messages.push({ role: "user", content });
    this.#inbox = [];
  }

  #measure({ usage }: EntryOf<"assistant">): void {
    if (!usage) return;
    const tokens = usage.input + usage.cache_read + usage.cache_write;
    const cached = usage.cache_read + usage.cache_write;
    if (tokens > 0) this.#measured = { tokens, cached, messages: this.#messages.length };
  }

  #countDenial(run: RunState, entry: EntryOf<"tool_finished">): void {
    const block = run.calls.find((call) => call.block.id === entry.call_id)?.block;
    if (!block) return;
    const key = callKey(block.name, block.input);
    if (entry.denied) this.#denials.set(key, (this.#denials.get(key) ?? 0) + 1);
    else this.#denials.delete(key);
  }

  #learn(entry: EntryOf<"tool_finished">): void {
    for (const fact of entry.facts ?? []) {
      if (fact.kind === "cwd") this.#cwd = fact.path;
      else if (fact.kind === "todos") this.#todos = fact.items;
      else this.#filesSeen.set(fact.path, fact.digest);
    }
  }

  /** Each call of the turn gets its result in the next message, whatever became of it (T-2). */
  #pushResults(run: RunState): void {
    if (run.calls.length === 0) return;
    const content = run.calls.map((call): ToolResultBlock => {
      if (call.at.phase === "finished") return resultBlock(call.at.result);
      this.#repairs++;
      this.#untold++;
      const began = call.at.phase === "started" || call.at.phase === "delegated";
      const content = began ? OUTCOME_UNKNOWN : NEVER_RAN;
      return { type: "tool_result", tool_use_id: call.block.id, content, is_error: true };
    });
    this.#messages.push({ role: "user", content });
  }

  /** A run that was left without an end (a log cut short) must not leave a call unpaired. */
  #pairUp(): void {
    if (this.#run && !this.#run.turnEnded) this.#pushResults(this.#run);
  }
}

const FRESH_TURN = {
  call: "none",
  stop: undefined,
  compactions: 0,
  stopDetail: undefined,
  calls: [],
  turnEnded: false,
  turnRestarts: 0,
  turnUsage: NO_USAGE,
  turnCostNano: 0,
} as const;

function newRun(entry: EntryOf<"run_started">): RunState {
  return {
    ...FRESH_TURN,
    config: entry.config,
    mode: entry.config.permission_mode,
    turn: 0,
    turnEnded: true,
    resumes: 0,
    usage: NO_USAGE,
    costNano: 0,
    cancelled: undefined,
    outcome: undefined,
  };
}

function answered(run: RunState, entry: EntryOf<"assistant">): RunState {
  const usage = entry.usage ?? NO_USAGE;
  return {
    ...run,
    call: "answered",
    compactions: 0,
    stop: entry.stop,
    stopDetail: entry.stop_detail,
    calls: entry.content.flatMap((block): Call[] =>
      block.type === "tool_use" ? [{ block, at: { phase: "new" } }] : [],
    ),
    turnUsage: usage,
    turnCostNano: entry.cost_nano,
    usage: addUsage(run.usage, usage),
    costNano: run.costNano + entry.cost_nano,
  };
}

function spent(run: RunState, usage: Usage | null, costNano: number): RunState {
  return { ...run, usage: addUsage(run.usage, usage ?? NO_USAGE), costNano: run.costNano + costNano };
}

/** One call is the same as another when tool and input are. */
function callKey(tool: string, input: Readonly<Record<string, unknown>>): string {
  return `${tool} ${JSON.stringify(input)}`;
}

/** A message of another agent as the model reads it. */
export function inboxText(from: string, text: string): string {
  return `<message from=${JSON.stringify(from)}>\n${text}\n</message>`;
}

function phase(run: RunState, callId: string, at: CallPhase): RunState {
  return { ...run, calls: run.calls.map((call) => (call.block.id === callId ? { ...call, at } : call)) };
}

/** A running call asks, or is answered: it stays started. */
function asking(run: RunState, callId: string, decisionId: string, answer: ElicitationAnswer | undefined): RunState {
  const at = run.calls.find((call) => call.block.id === callId)?.at;
  return at?.phase === "started" ? phase(run, callId, { ...at, asking: { decisionId, answer } }) : run;
}

/** The input a call runs with: the answer's rewritten one, else the model's. */
function inputOf(run: RunState, callId: string): Readonly<Record<string, unknown>> {
  const call = run.calls.find((c) => c.block.id === callId);
  if (!call) return {};
  return call.at.phase === "answered" ? call.at.input : call.block.input;
}

function resultBlock(entry: EntryOf<"tool_finished">): ToolResultBlock {
  return {
    type: "tool_result",
    tool_use_id: entry.call_id,
    content: entry.content,
    ...(entry.is_error ? { is_error: true } : {}),
  };
}
