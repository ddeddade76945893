import { err, ok, type Result } from "../../contract/result.ts";
import { attempt, type Failure, readWhole, refusal, type SandboxFetch } from "./rpc.ts";
import { SandboxInfo } from "./wire.ts";

export type ControlPlane = {
  /** Starts one from a template; it pauses, with its files, when its life is over. */
  create(template: string, lifeSeconds: number, signal: AbortSignal): Promise<Result<SandboxInfo, Failure>>;
  /** One that exists, running again if it was paused; undefined when there is none of that id. */
  find(id: string, lifeSeconds: number, signal: AbortSignal): Promise<Result<SandboxInfo | undefined, Failure>>;
  /** Lets it live for so many seconds from now. */
  extend(id: string, lifeSeconds: number, signal: AbortSignal): Promise<Result<void, Failure>>;
  /** Ends it for good; true also when it was gone already. */
  remove(id: string, signal: AbortSignal): Promise<boolean>;
};

const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * E2B's control plane over REST. Followed: e2b.dev/docs/api-reference/sandboxes (create-sandbox, get-sandbox,
 * connect-to-sandbox, set-sandbox-timeout, kill-sandbox). Not proven against the real service.
 */
export function createControlPlane(apiUrl: string, apiKey: string, fetch: SandboxFetch): ControlPlane {
  const base = `${apiUrl.replace(/\/+$/, "")}/sandboxes`;
  const send = (method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> => {
    const headers = { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(`${base}${path}`, { method, headers, ...content, signal, redirect: "manual" });
  };
  const at = (id: string): string => `/${encodeURIComponent(id)}`;
  const info = async (response: Response): Promise<Result<SandboxInfo, Failure>> => {
    if (!response.ok) return err(await refusal(response));
    const text = new TextDecoder().decode(await readWhole(response, MAX_ANSWER_BYTES));
    return ok(SandboxInfo.parse(JSON.parse(text)));
  };
  return {
    create: (templateID, timeout, signal) =>
      attempt(async () => info(await send("POST", "", { templateID, timeout, secure: true, autoPause: true }, signal))),
    find: (id, timeout, signal) =>
      attempt<SandboxInfo | undefined>(async () => {
        const response = await send("GET", at(id), undefined, signal);
        if (response.status === 404) return ok(undefined);
        const found = await info(response);
        if (!found.ok || found.value.state !== "paused") return found;
        return info(await send("POST", `${at(id)}/connect`, { timeout }, signal));
      }),
    extend: (id, timeout, signal) =>
      attempt(async () => {
        const response = await send("POST", `${at(id)}/timeout`, { timeout }, signal);
        return response.ok ? ok(undefined) : err(await refusal(response));
      }),
    async remove(id, signal) {
      const answer = await attempt(async () => ok((await send("DELETE", at(id), undefined, signal)).status));
      return answer.ok && (answer.value < 300 || answer.value === 404);
    },
  };
}
