import type { AuditEntry } from "../src/contract/audit.ts";
import type { Failure } from "../src/contract/failure.ts";
import type { Commit, Output } from "../src/contract/journal.ts";
import type { EntryOf, RunConfig, RunPlan } from "../src/contract/log.ts";
import type { Answer } from "../src/contract/refusal.ts";
import { cancelAgents } from "../src/engine/agent-end.ts";
import type { EngineDeps } from "../src/engine/deps.ts";
import { type DriveEnd, drive } from "../src/engine/drive.ts";
import { withdrawn } from "../src/engine/elicit.ts";
import { Nudge } from "../src/engine/nudge.ts";
import { failed } from "../src/engine/outcomes.ts";
import { redactOutput } from "../src/engine/redact-output.ts";
import type { SessionJournal } from "./session-journal.ts";
import type { SessionStore } from "./session-store.ts";

export type DriverPorts = {
  readonly journal: SessionJournal;
  readonly store: SessionStore;
  /** Builds the engine of a run; refused when it cannot be run (its key is gone, its provider is unknown). */
  engine(config: RunConfig): Promise<Answer<EngineDeps>>;
  /** Keeps the object alive while the promise is open. */
  hold(work: Promise<void>): void;
  /** How long a run may take, milliseconds. */
  readonly runMs: number;
  /** Something changed that alarms depend on. */
  changed(): void;
  log(error: unknown): void;
};

/**
 * Owns the session's run: at most one loop at a time, whoever asked for it. The run belongs to the object, never to a
 * request; a loop that was lost with an earlier life of the object is picked up from the log.
 */
export class SessionDriver {
  readonly #ports: DriverPorts;
  /** Tells the running loop of what is appended beside it. */
  readonly #nudge = new Nudge();
  #active: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;
  /** The run this life of the object began or answered; any other unfinished one was left by an earlier life. */
  #owned: string | undefined;
  /** Who waits for a run's end, by run: two may cancel at the same moment. */
  readonly #waiters = new Map<string, (() => void)[]>();

  constructor(ports: DriverPorts) {
    this.#ports = ports;
  }

  get running(): boolean {
    return this.#active !== undefined;
  }

  /** Whether the log calls for a step, or a message waits: somebody must come back to it. */
  get unfinished(): boolean {
    const { journal, store } = this.#ports;
    // Told by one row where nothing is: a look at a session at rest must not read its whole log.
    if (store.isAtRest()) return false;
    return journal.tree.standing().kind === "go" || store.queueLength() > 0;
  }

  /** Whether a run has not ended yet, parked ones included. */
  get busy(): boolean {
    const run = this.#ports.journal.fold.run;
    return run !== undefined && run.outcome === undefined;
  }

  /** Stores a run's beginning; `ensure` drives it. */
  begin({ config, content }: RunPlan): void {
    this.#owned = config.run_id;
    const deadline = Date.now() + this.#ports.runMs;
    const entries = [
      { kind: "run_started", config: { ...config, deadline } } as const,
      ...(content.length > 0 ? [{ kind: "user", content } as const] : []),
    ];
    this.#ports.journal.commit(config.run_id, { entries, events: [], audit: [] });
  }

  /** An answer (or its absence) for the open question of the run; the loop goes on from it. */
  settle(runId: string, entry: EntryOf<"decision_settled">, audit: readonly AuditEntry[] = []): void {
    this.#owned = runId;
    this.#ports.journal.commit(runId, { entries: [entry], events: [], audit });
    this.#nudge.give();
    this.ensure();
  }

  /** Goes on with whatever the log calls for, unless a loop is on it already. */
  ensure(): void {
    if (this.#active) return;
    const { tree, fold } = this.#ports.journal;
    const standing = tree.standing();
    if (standing.kind === "wait") return;
    if (standing.kind === "idle" && this.#ports.store.queueLength() === 0) return;
    const runId = fold.run?.config.run_id;
    if (standing.kind === "go" && runId !== undefined && this.#owned !== runId) {
      this.#owned = runId;
      const entries = [{ kind: "run_resumed" } as const, ...this.#lostQuestions()];
      this.#ports.journal.commit(runId, { entries, events: [], audit: [] });
    }
    const controller = new AbortController();
    const done = this.#loop(controller).then(
      () => {
        this.#active = undefined;
        this.#ports.changed();
        // A message may have come in after the loop had looked for the last time.
        this.ensure();
      },
      (error: unknown) => {
        // The alarm tries again; trying at once could go round for ever.
        this.#active = undefined;
        this.#ports.log(error);
        this.#ports.changed();
      },
    );
    this.#active = { controller, done };
    this.#ports.hold(done);
    this.#ports.changed();
  }

  /** What ends the questions of calls that were running when their owner was lost: nobody waits for the answers. */
  #lostQuestions(): EntryOf<"decision_settled">[] {
    return this.#ports.store.openDecisions().flatMap(({ agent, decision_id, call_id, elicitation }) => {
      if (!elicitation) return [];
      const entry = withdrawn(call_id, decision_id, "the call it belongs to was interrupted");
      return [agent === undefined ? entry : { ...entry, agent }];
    });
  }

  /** Stops the run with `done {cancelled}`; resolves when it has ended. False when nothing runs. */
  async cancel(reason: string): Promise<boolean> {
    const run = this.#ports.journal.fold.run;
    if (!run || run.outcome) return false;
    this.#owned = run.config.run_id;
    const entries = run.cancelled === undefined ? [{ kind: "cancel", reason } as const] : [];
    this.#ports.journal.commit(run.config.run_id, { entries, events: [], audit: [] });
    const waiters = this.#waiters.get(run.config.run_id) ?? [];
    this.#waiters.set(run.config.run_id, waiters);
    const ended = new Promise<void>((resolve) => waiters.push(resolve));
    // The run's own end may be stored before the loop sees the abort: whoever stores it wakes those who wait.
    this.#active?.controller.abort(new Error("cancelled"));
    await this.#active?.done;
    this.ensure();
    await ended;
    return true;
  }

  /** Resolves when the run has ended; at once when it is not the one at hand. */
  async ended(runId: string): Promise<void> {
    const run = this.#ports.journal.fold.run;
    if (run?.config.run_id !== runId || run.outcome) return;
    const waiters = this.#waiters.get(runId) ?? [];
    this.#waiters.set(runId, waiters);
    await new Promise<void>((resolve) => waiters.push(resolve));
  }

  async #loop(controller: AbortController): Promise<void> {
    const { journal, store } = this.#ports;
    while (!controller.signal.aborted) {
      const run = journal.fold.run;
      if (!run || run.outcome) {
        // In one transaction: a message that left the queue is in the log.
        if (!store.transaction(() => this.#startNext())) break;
        continue;
      }
      const end = await this.#drive(run.config, controller.signal);
      if (end?.kind === "parked") break;
    }
    journal.settle();
  }

  /** Begins the run that waited longest; false when none does. */
  #startNext(): boolean {
    const next = this.#ports.store.dequeue();
    if (!next) return false;
    this.begin(next);
    return true;
  }

  /** Drives the run until it ends, parks or is stopped; a bug inside ends the run with an error, never the object. */
  async #drive(config: RunConfig, signal: AbortSignal): Promise<DriveEnd | undefined> {
    const { journal } = this.#ports;
    try {
      const deps = await unlessAborted(this.#ports.engine(config), signal);
      if (!deps.ok) {
        this.#fail(config.run_id, { category: "interrupted", message: deps.error.message, retryable: true });
        return { kind: "ended" };
      }
      const steps = redactOutput(drive(journal.tree, deps.value, this.#nudge, signal), deps.value.redactor);
      try {
        while (true) {
          const next = await steps.next();
          if (next.done) return next.value;
          this.#take(config.run_id, next.value);
        }
      } finally {
        // Also when a step could not be stored: no agent may go on beside what comes next.
        await steps.return({ kind: "ended" });
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      this.#ports.log(error);
      const message = "the engine failed inside; the fault is in its log";
      this.#fail(config.run_id, { category: "internal", message, retryable: false });
      return { kind: "ended" };
    }
  }

  /** Ends a run that cannot be driven, and the agents it has started. */
  #fail(runId: string, failure: Failure): void {
    const { journal } = this.#ports;
    for (const end of cancelAgents(journal.tree, Date.now())) journal.commit(runId, end);
    this.#commit(runId, failed(failure));
  }

  /** Stores a commit; a run's end wakes those who wait for it. */
  #commit(runId: string, commit: Commit): void {
    this.#ports.journal.commit(runId, commit);
    if (!commit.entries.some((entry) => entry.kind === "run_ended" && entry.agent === undefined)) return;
    for (const wake of this.#waiters.get(runId) ?? []) wake();
    this.#waiters.delete(runId);
  }

  #take(runId: string, output: Output): void {
    const { journal } = this.#ports;
    if (output.kind === "live") journal.live(runId, output.events);
    else if (output.entries.length > 0 || output.audit.length > 0) this.#commit(runId, output);
    else journal.announce(runId, output.events);
  }
}

/** The same, but given up when the signal aborts: an engine that waits for other machines holds no cancel back. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
