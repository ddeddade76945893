import type { RemoteSandboxOptions } from "./connection.ts";

/** Time the server has for it, milliseconds. */
const TIMEOUT_MS = 15_000;

/** Removes the workspace on the other machine for good; true when it is gone. Never throws: idle removal is the net below. */
export async function removeRemoteSandbox(
  options: Pick<RemoteSandboxOptions, "baseUrl" | "token" | "sandboxId" | "fetch">,
): Promise<boolean> {
  const url = `${options.baseUrl.replace(/\/+$/, "")}/v1/sandbox/${options.sandboxId}`;
  const headers = { authorization: `Bearer ${options.token}` };
  try {
    const answer = await options.fetch(url, { method: "DELETE", headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    await answer.body?.cancel();
    return answer.ok || answer.status === 404;
  } catch {
    return false;
  }
}
