import type { Commit, Output } from "../contract/journal.ts";
import type { Prompt } from "../contract/prompts.ts";
import type { EngineDeps } from "./deps.ts";
import type { SessionFold } from "./log/fold.ts";
import type { RunState } from "./log/run-state.ts";
import type { AgentId, SessionTree } from "./log/tree.ts";
import type { ModelSlots } from "./model-slots.ts";
import type { Nudge } from "./nudge.ts";

/** What all agents of a run share while somebody drives it. */
export type Crew = {
  readonly tree: SessionTree;
  readonly deps: EngineDeps;
  readonly slots: ModelSlots;
  /** Tells that the host appended something. */
  readonly nudge: Nudge;
  /** What the observer has been told of the session's cost; shared, so that nobody tells it twice. */
  readonly costWatch: { seenNano: number };
};

/** One agent at one step: its log, its run as it stands, and what it shares with the others. */
export type Agent = Crew & {
  readonly id: AgentId;
  readonly fold: SessionFold;
  readonly run: RunState;
  readonly signal: AbortSignal;
};

/**
 * What an agent's loop yields. A `late` one depends on the other agents and is made at the moment it is stored: what was
 * true when it was thought of may not be so any more.
 */
export type Step = Output | { readonly kind: "late"; build(): Commit };

/** An agent that is about to call its model. */
export type PromptedAgent = Agent & { readonly prompt: Prompt };
