import type { Commit } from "../contract/journal.ts";
import type { AgentEnd } from "./agent-loop.ts";
import type { AgentId, SessionTree } from "./log/tree.ts";
import { failed, finished } from "./outcomes.ts";

/** What ends an agent's run; made when everything that belongs to its cost is stored. */
export function lastCommit(id: AgentId, end: Exclude<AgentEnd, { kind: "blocked" }>, tree: SessionTree): Commit {
  if (end.kind === "failed") return failed(end.failure);
  const run = tree.foldOf(id)?.run;
  if (!run) throw new Error("an agent that ends has a run");
  const spend = id === undefined ? tree.spend : { usage: run.usage, costNano: run.costNano };
  return finished(spend, run.turn, end.reason);
}
