import { createD1AuditSink } from "../audit/d1-sink.ts";
import type { AuditSink } from "../contract/audit.ts";
import type { SessionDirectory } from "../contract/directory.ts";
import { createD1Directory } from "../directory/d1-directory.ts";
import type { Bindings } from "./bindings.ts";

/** The audit in D1; undefined where there is none. */
export function composeAudit(env: Bindings): AuditSink | undefined {
  return env.DB ? createD1AuditSink(env.DB) : undefined;
}

/** The list of sessions in D1; undefined where there is none. */
export function composeDirectory(env: Bindings): SessionDirectory | undefined {
  return env.DB ? createD1Directory(env.DB) : undefined;
}
