import type { Crew } from "./agent.ts";
import { dollars } from "./outcomes.ts";

/** USD of a session at which operators are told (O-5). */
const THRESHOLDS_USD = [1, 5, 10, 50, 100];

/** Tells the observer of each threshold that the session's cost has passed since it last looked. */
export function noteCost({ tree, deps, costWatch }: Crew): void {
  const before = costWatch.seenNano;
  const after = tree.sessionCostNano;
  costWatch.seenNano = after;
  for (const threshold of THRESHOLDS_USD) {
    if (before >= threshold * 1e9 || after < threshold * 1e9) continue;
    const data = { session_id: deps.sessionId, threshold_usd: threshold, cost_usd: dollars(after) };
    deps.observe("session_cost_threshold_crossed", data);
  }
}
