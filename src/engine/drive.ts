import type { Output } from "../contract/journal.ts";
import type { Crew } from "./agent.ts";
import { cancelAgents } from "./agent-end.ts";
import { runAgent } from "./agent-loop.ts";
import { driveCrew } from "./crew.ts";
import type { EngineDeps } from "./deps.ts";
import { lastCommit } from "./last-commit.ts";
import { made } from "./late.ts";
import type { SessionTree } from "./log/tree.ts";
import { ModelSlots } from "./model-slots.ts";
import type { Nudge } from "./nudge.ts";
import { DEADLOCK, failed } from "./outcomes.ts";

/** Why the loop let go of the run. */
export type DriveEnd =
  /** The run has its one `done` or `error`. */
  | { readonly kind: "ended" }
  /** A question is open; come back with its answer or at the deadline (milliseconds since the epoch). */
  | { readonly kind: "parked"; readonly deadline: number };

/**
 * Drives a session's run, sub-agents included, from wherever its log stands. The host stores each yielded commit and
 * appends its entries to `tree` before the generator goes on, so this can begin in the middle of any log. Throws only
 * when `signal` aborts; then the log says where to go on. `nudge` tells it that the host appended something meanwhile.
 */
export async function* drive(
  tree: SessionTree,
  deps: EngineDeps,
  nudge: Nudge,
  signal: AbortSignal,
): AsyncGenerator<Output, DriveEnd> {
  const crew: Crew = {
    tree,
    deps,
    slots: new ModelSlots(tree, deps.limits.maxParallelModelCalls),
    nudge,
    costWatch: { seenNano: tree.sessionCostNano },
  };
  while (true) {
    signal.throwIfAborted();
    if (tree.root.run?.cancelled !== undefined) yield* cancelAgents(tree, deps.now());
    const standing = tree.standing();
    if (standing.kind === "idle") return { kind: "ended" };
    if (standing.kind === "wait") return { kind: "parked", deadline: standing.deadline };
    if (tree.working().length > 0) {
      yield* driveCrew(crew, nudge, signal);
      continue;
    }
    // Nobody else is at work: no need for the queue between agents.
    const steps = runAgent(undefined, crew, signal);
    let next = await steps.next();
    try {
      for (; !next.done; next = await steps.next()) yield made(next.value);
    } finally {
      if (!next.done) await steps.return({ kind: "blocked" });
    }
    if (next.value.kind !== "blocked") yield lastCommit(undefined, next.value, tree);
    else if (tree.step(undefined).kind === "blocked" && tree.working().length === 0) yield failed(DEADLOCK);
  }
}
