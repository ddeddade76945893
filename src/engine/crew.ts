import type { Output } from "../contract/journal.ts";
import type { Crew, Step } from "./agent.ts";
import { agentEnded, cancelAgents } from "./agent-end.ts";
import { ofAgent } from "./agent-events.ts";
import { type AgentEnd, runAgent } from "./agent-loop.ts";
import { lastCommit } from "./last-commit.ts";
import { made } from "./late.ts";
import type { AgentId } from "./log/tree.ts";
import type { Nudge } from "./nudge.ts";
import { DEADLOCK, failed } from "./outcomes.ts";

type Happening =
  | { readonly kind: "output"; readonly id: AgentId; readonly output: Step; readonly taken: () => void }
  | { readonly kind: "end"; readonly id: AgentId; readonly end: AgentEnd }
  | { readonly kind: "broken"; readonly error: unknown };

type Loop = { readonly controller: AbortController; readonly done: Promise<void> };

/**
 * Drives several agents side by side until only the root is left, everybody waits, or the run has ended. One commit at a
 * time leaves, and its agent goes on only after the host took it, so the log is one line whoever writes it.
 */
export async function* driveCrew(crew: Crew, nudge: Nudge, signal: AbortSignal): AsyncGenerator<Output, void> {
  const desk = new Desk(crew, nudge, signal);
  try {
    while (desk.startAll()) {
      const happening = await desk.next();
      if (!happening) continue;
      if (happening.kind === "broken") throw happening.error;
      if (happening.kind === "end") {
        yield* ended(happening.id, happening.end, crew, desk);
        desk.forget(happening.id);
      } else {
        const output = made(happening.output);
        yield happening.id === undefined ? output : ofAgent(output, happening.id);
        happening.taken();
      }
    }
    if (crew.tree.standing().kind !== "go" || crew.tree.working().length === 0) return;
    yield* cancelAgents(crew.tree, crew.deps.now());
    yield failed(DEADLOCK);
  } finally {
    await desk.stopAll();
  }
}

/** An agent's loop came back; one that has ended takes those it started along. */
async function* ended(id: AgentId, end: AgentEnd, crew: Crew, desk: Desk): AsyncGenerator<Output, void> {
  const { tree, deps } = crew;
  if (end.kind === "blocked") return;
  // A message may have reached it since it found that it was done: then it goes on.
  if (end.kind === "finished" && tree.step(id).kind !== "finish") return;
  await desk.stop(tree.working(id));
  yield* cancelAgents(tree, deps.now(), id);
  const last = lastCommit(id, end, tree);
  const fold = tree.foldOf(id);
  if (id === undefined) yield last;
  else if (fold?.run) yield agentEnded(id, fold, fold.run, last, deps.now());
}

/** Where the loops of a crew run and leave what they have. */
class Desk {
  readonly #crew: Crew;
  readonly #nudge: Nudge;
  readonly #signal: AbortSignal;
  readonly #loops = new Map<AgentId, Loop>();
  #happenings: Happening[] = [];
  #wake: () => void = () => undefined;

  constructor(crew: Crew, nudge: Nudge, signal: AbortSignal) {
    this.#crew = crew;
    this.#nudge = nudge;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  /** Starts every agent that can go on; false when nobody runs, or nobody but the root is left. */
  startAll(): boolean {
    const { tree } = this.#crew;
    const working = tree.working();
    if (working.length > 0 || this.#loops.size > 0) {
      for (const id of [undefined, ...working]) {
        const { kind } = tree.step(id);
        const rests = kind === "idle" || kind === "wait" || kind === "blocked";
        if (!rests && !this.#loops.has(id)) this.#start(id);
      }
    }
    return this.#loops.size > 0;
  }

  /** The next thing that happened; waits until something has. undefined: the log changed from outside. */
  async next(): Promise<Happening | undefined> {
    if (this.#happenings.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#nudge.onNext(resolve);
        if (this.#signal.aborted) resolve();
      });
      this.#nudge.clear();
    }
    this.#signal.throwIfAborted();
    return this.#happenings.shift();
  }

  /** The loop has come back and its end is stored: from here on the agent may be started again. */
  forget(id: AgentId): void {
    this.#loops.delete(id);
  }

  /** Stops the loops of these agents, and forgets what they had not handed over. */
  async stop(ids: readonly string[]): Promise<void> {
    const loops = ids.flatMap((id) => this.#loops.get(id) ?? []);
    for (const loop of loops) loop.controller.abort(new Error("the agent is stopped"));
    for (const id of ids) this.#loops.delete(id);
    this.#happenings = this.#happenings.filter(
      (each) => !("id" in each) || each.id === undefined || !ids.includes(each.id),
    );
    await Promise.all(loops.map((loop) => loop.done));
  }

  async stopAll(): Promise<void> {
    const loops = [...this.#loops.values()];
    for (const loop of loops) loop.controller.abort(new Error("the run is let go"));
    await Promise.all(loops.map((loop) => loop.done));
  }

  #start(id: AgentId): void {
    const controller = new AbortController();
    const signal = AbortSignal.any([this.#signal, controller.signal]);
    const done = this.#pump(id, signal).then(
      (end) => {
        if (!controller.signal.aborted) this.#tell({ kind: "end", id, end });
      },
      (error: unknown) => {
        if (!signal.aborted) this.#tell({ kind: "broken", error });
      },
    );
    this.#loops.set(id, { controller, done });
  }

  async #pump(id: AgentId, signal: AbortSignal): Promise<AgentEnd> {
    const steps = runAgent(id, this.#crew, signal);
    // One listener for all outputs: a run has thousands.
    let drop: () => void = () => undefined;
    signal.addEventListener("abort", () => drop(), { once: true });
    try {
      while (true) {
        const next = await steps.next();
        if (next.done) return next.value;
        await new Promise<void>((taken) => {
          drop = taken;
          if (signal.aborted) taken();
          else this.#tell({ kind: "output", id, output: next.value, taken });
        });
        signal.throwIfAborted();
      }
    } finally {
      await steps.return({ kind: "blocked" });
    }
  }

  #tell(happening: Happening): void {
    this.#happenings.push(happening);
    this.#wake();
  }
}
