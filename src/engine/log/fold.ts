import type { SessionFacts } from "../../contract/facts.ts";
import type { Entry, EntryOf } from "../../contract/log.ts";
import type { Message, ToolResultBlock } from "../../contract/messages.ts";
import { NO_USAGE } from "../../contract/model.ts";
import { addUsage, type Call, type CallPhase, type RunState } from "./run-state.ts";

export const OUTCOME_UNKNOWN =
  "error: the tool was started, but the engine was interrupted before its result was stored. Whether it took effect is unknown; check before you repeat it.";

/**
 * The state of a session, folded entry by entry from its log. Appending is the only way to change it, so a session that
 * is loaded again from the same log is the same session.
 */
export class SessionFold {
  #run: RunState | undefined;
  readonly #messages: Message[] = [];
  readonly #filesSeen = new Map<string, string>();
  #cwd: string;
  #todos: SessionFacts["todos"] = [];
  #repairs = 0;

  constructor(root: string) {
    this.#cwd = root;
  }

  /** The newest run; undefined in a session that had none. */
  get run(): RunState | undefined {
    return this.#run;
  }

  /** The conversation as a model is to see it; each message object is made once and never changed. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  get facts(): SessionFacts {
    return { cwd: this.#cwd, filesSeen: this.#filesSeen, todos: this.#todos };
  }

  /** Tool calls that had no result when their run was left behind and were given one (T-2). */
  get repairs(): number {
    return this.#repairs;
  }

  append(entry: Entry): void {
    switch (entry.kind) {
      case "run_started":
        this.#pairUp();
        this.#run = newRun(entry);
        return;
      case "user":
        this.#messages.push({ role: "user", content: entry.content });
        return;
      case "forked":
        return;
      default:
        if (this.#run) this.#run = this.#applyToRun(this.#run, entry);
    }
  }

  #applyToRun(run: RunState, entry: Exclude<Entry, { kind: "run_started" | "user" | "forked" }>): RunState {
    switch (entry.kind) {
      case "turn_started":
        return { ...run, ...FRESH_TURN, turn: entry.turn, call: "open" };
      case "turn_restarted":
        return { ...run, call: "open", turnRestarts: run.turnRestarts + 1 };
      case "assistant":
        this.#messages.push({ role: "assistant", content: entry.content });
        return answered(run, entry);
      case "decision_asked":
        return phase(run, entry.call_id, { phase: "asked", decisionId: entry.decision_id, deadline: entry.deadline });
      case "decision_settled":
        return phase(run, entry.call_id, {
          phase: "answered",
          allow: entry.allow,
          reason: entry.reason,
          updatedInput: entry.updated_input,
        });
      case "tool_started":
        return phase(run, entry.call_id, { phase: "started", input: inputOf(run, entry.call_id) });
      case "tool_finished":
        this.#learn(entry);
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
      return { type: "tool_result", tool_use_id: call.block.id, content: OUTCOME_UNKNOWN, is_error: true };
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

function phase(run: RunState, callId: string, at: CallPhase): RunState {
  return { ...run, calls: run.calls.map((call) => (call.block.id === callId ? { ...call, at } : call)) };
}

/** The input a call runs with: the answer's rewritten one, else the model's. */
function inputOf(run: RunState, callId: string): Readonly<Record<string, unknown>> {
  const call = run.calls.find((c) => c.block.id === callId);
  if (!call) return {};
  return call.at.phase === "answered" && call.at.updatedInput ? call.at.updatedInput : call.block.input;
}

function resultBlock(entry: EntryOf<"tool_finished">): ToolResultBlock {
  return {
    type: "tool_result",
    tool_use_id: entry.call_id,
    content: entry.content,
    ...(entry.is_error ? { is_error: true } : {}),
  };
}
