import { err, ok, type Result } from "../../contract/result.ts";
import { attempt, type Failure, type Live, readWhole, refusal, type SandboxFetch } from "./rpc.ts";

/** A read keeps the whole file in the Worker's memory (128 MB for all it does). */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

/**
 * Content of a file over envd's plain HTTP routes. Followed: `packages/envd/spec/envd.yaml` in github.com/e2b-dev/infra.
 * The user goes along as a query parameter here. Never throws.
 */
export async function download(
  fetch: SandboxFetch,
  live: Live,
  user: string,
  path: string,
  signal: AbortSignal,
): Promise<Result<Uint8Array, Failure>> {
  return attempt(async () => {
    const response = await fetch(address(live, user, path), { headers: live.headers, signal, redirect: "manual" });
    return response.ok ? ok(await readWhole(response, MAX_FILE_BYTES)) : err(await refusal(response));
  });
}

/** Replaces a file's content, making missing parents. As a form with one part, which every version of envd takes. */
export async function upload(
  fetch: SandboxFetch,
  live: Live,
  user: string,
  path: string,
  content: Uint8Array,
  signal: AbortSignal,
): Promise<Result<void, Failure>> {
  return attempt(async () => {
    const form = new FormData();
    form.append("file", new Blob([content.slice()]), "file");
    const init = { method: "POST", headers: live.headers, body: form, signal, redirect: "manual" } as const;
    const response = await fetch(address(live, user, path), init);
    if (!response.ok) return err(await refusal(response));
    await response.body?.cancel();
    return ok(undefined);
  });
}

function address(live: Live, user: string, path: string): string {
  return `${live.url}/files?${new URLSearchParams({ path, username: user })}`;
}
