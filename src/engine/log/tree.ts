import type { AgentConfig } from "../../contract/agents.ts";
import type { Entry } from "../../contract/log.ts";
import { NO_USAGE, type Usage } from "../../contract/model.ts";
import type { Grant } from "../../contract/permission.ts";
import type { StoredPrompt } from "../../contract/prompts.ts";
import { SessionFold } from "./fold.ts";
import { nextStep, type Step, type Surroundings } from "./next-step.ts";
import { addUsage } from "./run-state.ts";

/** Names an agent of a session; undefined: the session's own, the root. */
export type AgentId = string | undefined;

export type Spend = { readonly usage: Usage; readonly costNano: number };

/** Where a session stands as a whole. */
export type Standing =
  | { readonly kind: "idle" }
  /** Every agent waits for a person, or for one that does; `deadline` is the earliest, milliseconds since the epoch. */
  | { readonly kind: "wait"; readonly deadline: number }
  /** Somebody can go on. */
  | { readonly kind: "go" };

const NOTHING: Spend = { usage: NO_USAGE, costNano: 0 };

/**
 * A session with its sub-agents: one fold per agent, fed from the one log. What a run costs is the sum over all of its
 * agents.
 */
export class SessionTree {
  readonly root: SessionFold;
  readonly #agents = new Map<string, SessionFold>();
  readonly #dir: string;
  readonly #grants: Grant[] = [];
  /** Dynamic prompt sections, by what they are tied to; computed again after a compaction (B-2). */
  readonly #prompts = new Map<string, StoredPrompt["texts"]>();
  #spend = NOTHING;
  #sessionCostNano = 0;

  /** `dir`: the workspace, where the session's own agent begins. */
  constructor(dir: string) {
    this.#dir = dir;
    this.root = new SessionFold(dir);
  }

  append(entry: Entry): void {
    this.#count(entry);
    // A lost owner was every agent's: one whose tool takes the object down must be given up in the end (S8).
    if (entry.kind === "run_resumed") for (const id of this.working()) this.#agents.get(id)?.append(entry);
    if (entry.agent === undefined) this.root.append(entry);
    else this.#agent(entry.agent, entry).append(entry);
  }

  /** What the current run has cost so far. */
  get spend(): Spend {
    return this.#spend;
  }

  /** What all runs of the session have cost, but for what a fork inherited; nano-dollars. */
  get sessionCostNano(): number {
    return this.#sessionCostNano;
  }

  /** What a person has allowed for the rest of the session, whichever agent asked. */
  get grants(): readonly Grant[] {
    return this.#grants;
  }

  get prompts(): ReadonlyMap<string, StoredPrompt["texts"]> {
    return this.#prompts;
  }

  /** Sub-agents the session ever had. */
  get agentCount(): number {
    return this.#agents.size;
  }

  foldOf(id: AgentId): SessionFold | undefined {
    return id === undefined ? this.root : this.#agents.get(id);
  }

  configOf(id: string): AgentConfig | undefined {
    return this.#agents.get(id)?.run?.config.agent;
  }

  /** Sub-agents that have not ended, in the order they were started; only those below `ancestor` when it is given. */
  working(ancestor?: string): string[] {
    return [...this.#agents.keys()].filter(
      (id) => this.#works(id) && (ancestor === undefined || this.#below(id, ancestor)),
    );
  }

  /** The agent of a name or an id. */
  find(name: string): string | undefined {
    return [...this.#agents.keys()].find((id) => id === name || this.configOf(id)?.name === name);
  }

  works(id: string): boolean {
    return this.#works(id);
  }

  /** Budgets that bind an agent: its own and those of all above it. */
  caps(id: AgentId): { readonly capNano: number; readonly spentNano: number }[] {
    const caps: { capNano: number; spentNano: number }[] = [];
    for (let at = id; ; at = this.configOf(at)?.parent) {
      const budget = this.foldOf(at)?.run?.config.max_cost_usd;
      const spentNano = at === undefined ? this.#spend.costNano : this.#costOf(at);
      if (budget !== undefined) caps.push({ capNano: budget * 1e9, spentNano });
      if (at === undefined) return caps;
    }
  }

  /** The named agents of the session. */
  teammates(): { id: string; name: string; working: boolean }[] {
    return [...this.#agents.keys()].flatMap((id) => {
      const name = this.configOf(id)?.name;
      return name === undefined ? [] : [{ id, name, working: this.#works(id) }];
    });
  }

  step(id: AgentId): Step {
    const fold = this.foldOf(id);
    if (!fold) return { kind: "idle" };
    const step = nextStep(fold.run, this.#around(id, fold));
    const held = fold.run?.config.agent?.when_idle && fold.run.turn === 0 && !this.#rootRests();
    return held ? { kind: "blocked" } : step;
  }

  /** Where the session stands: computed from the log alone, so that nobody has to be remembered as running. */
  standing(): Standing {
    const steps = [this.step(undefined), ...this.working().map((id) => this.step(id))];
    if (steps.some(({ kind }) => kind !== "idle" && kind !== "wait" && kind !== "blocked")) return { kind: "go" };
    const deadlines = steps.flatMap((step) => (step.kind === "wait" ? [step.deadline] : []));
    if (deadlines.length > 0) return { kind: "wait", deadline: Math.min(...deadlines) };
    // Blocked by nobody: whoever drives the session has to end it.
    return steps.some(({ kind }) => kind === "blocked") ? { kind: "go" } : { kind: "idle" };
  }

  #agent(id: string, entry: Entry): SessionFold {
    const known = this.#agents.get(id);
    if (known) return known;
    const cwd = entry.kind === "run_started" ? entry.config.agent?.cwd : undefined;
    const made = new SessionFold(cwd ?? this.#dir);
    this.#agents.set(id, made);
    return made;
  }

  #around(id: AgentId, fold: SessionFold): Surroundings {
    return {
      ended: (agentId) => !this.#works(agentId),
      working: this.working().filter((other) => this.configOf(other)?.parent === id).length,
      inbox: fold.inbox.length,
      spentNano: id === undefined ? this.#spend.costNano : this.#costOf(id),
    };
  }

  #works(id: string): boolean {
    const run = this.#agents.get(id)?.run;
    return run !== undefined && run.outcome === undefined;
  }

  #below(id: string, ancestor: string): boolean {
    const parent = this.configOf(id)?.parent;
    return parent !== undefined && (parent === ancestor || this.#below(parent, ancestor));
  }

  /** What an agent and those below it have spent. */
  #costOf(id: string): number {
    const all = [...this.#agents].filter(([other]) => other === id || this.#below(other, id));
    return all.reduce((sum, [, fold]) => sum + (fold.run?.costNano ?? 0), 0);
  }

  #rootRests(): boolean {
    const { run } = this.root;
    // Waiting for an agent in the foreground is no rest.
    if (run?.calls.some((call) => call.at.phase === "delegated")) return false;
    return nextStep(run, this.#around(undefined, this.root)).kind === "blocked";
  }

  #count(entry: Entry): void {
    switch (entry.kind) {
      case "run_started":
        if (entry.agent === undefined) this.#spend = NOTHING;
        return;
      case "forked":
        this.#grants.length = 0;
        this.#sessionCostNano = 0;
        return;
      case "decision_settled":
        if (entry.allow && entry.grant) this.#grants.push(entry.grant);
        return;
      case "prompt_composed":
        this.#prompts.set(entry.tie, entry.texts);
        return;
      case "call_failed":
      case "assistant":
      case "classified":
      case "compacted":
        if (entry.kind === "compacted" && entry.agent === undefined) this.#prompts.clear();
        this.#spend = {
          usage: addUsage(this.#spend.usage, entry.usage ?? NO_USAGE),
          costNano: this.#spend.costNano + entry.cost_nano,
        };
        this.#sessionCostNano += entry.cost_nano;
        return;
      default:
        return;
    }
  }
}
