import type { AuditSink } from "../contract/audit.ts";
import type { Entry } from "../contract/log.ts";
import type { EngineDeps } from "../engine/deps.ts";
import { drive } from "../engine/drive.ts";
import { SessionTree } from "../engine/log/tree.ts";
import { Nudge } from "../engine/nudge.ts";
import { redactOutput } from "../engine/redact-output.ts";
import { encodeFrame, eventData } from "./frames.ts";

/**
 * A run without a session (H-2): the same engine over a log in memory. Gives SSE text and ends after the run's one `done`
 * or `error`. Audit entries are durable before what they speak of happens. An abort of `signal` ends it by throwing the
 * signal's reason; the model call and running tools stop with it.
 */
export async function* statelessRun(
  opening: readonly Entry[],
  deps: EngineDeps,
  audit: AuditSink,
  tenant: string,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const tree = new SessionTree(deps.sandbox.root);
  for (const entry of opening) tree.append(entry);
  const runId = tree.root.run?.config.run_id ?? "";
  let seq = 0;
  for await (const output of redactOutput(drive(tree, deps, new Nudge(), signal), deps.redactor)) {
    if (output.kind === "commit") {
      if (output.audit.length > 0) await audit.write(tenant, output.audit);
      for (const entry of output.entries) tree.append(entry);
    }
    let text = "";
    for (const event of output.events) text += encodeFrame(++seq, event.type, eventData(event, runId));
    if (text !== "") yield text;
  }
}
