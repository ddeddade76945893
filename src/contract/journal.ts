import type { AuditEntry } from "./audit.ts";
import type { EngineEvent, LiveEvent } from "./events.ts";
import type { Entry } from "./log.ts";

/** What one step leaves behind. The host stores all of it in one transaction, then shows the events; never the other way round. */
export type Commit = {
  readonly kind: "commit";
  readonly entries: readonly Entry[];
  readonly events: readonly EngineEvent[];
  readonly audit: readonly AuditEntry[];
};

/** Deltas and progress: shown at once, stored when the host finds it worth a write. */
export type Live = { readonly kind: "live"; readonly events: readonly LiveEvent[] };

/** What the engine yields. The engine goes on only after the host took it, so a step is durable before the next begins. */
export type Output = Commit | Live;
