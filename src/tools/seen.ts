import type { SessionFacts } from "../contract/facts.ts";
import type { SandboxFiles } from "../contract/sandbox.ts";
import { sha256Hex } from "../shared/digest.ts";

export type Target =
  | { readonly state: "missing"; readonly realPath: string }
  /** There, and exactly as the model saw it last. */
  | { readonly state: "seen"; readonly realPath: string; readonly bytes: Uint8Array }
  | { readonly state: "refused"; readonly reason: string };

/**
 * Looks at a file that is about to be changed: it must be new, or have been read in this session and be unchanged since
 * (K-2). Compares content, not times, so a touch does no harm and a change within the same millisecond is seen.
 */
export async function lookBeforeChange(files: SandboxFiles, facts: SessionFacts, path: string): Promise<Target> {
  const real = await files.realPath(path);
  if (!real.ok) return { state: "refused", reason: real.error.message };
  const current = await files.readFile(path);
  if (!current.ok) {
    if (current.error.code === "not_found") return { state: "missing", realPath: real.value };
    return { state: "refused", reason: current.error.message };
  }
  const seen = facts.filesSeen.get(real.value);
  if (seen === undefined) return { state: "refused", reason: `${path} has not been read yet; read it first with Read` };
  if (seen !== (await sha256Hex(current.value))) {
    return { state: "refused", reason: `${path} has changed since it was read; read it again before changing it` };
  }
  return { state: "seen", realPath: real.value, bytes: current.value };
}
