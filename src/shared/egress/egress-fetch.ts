import type { EgressFetch } from "../../contract/tools.ts";
import { checkUrl, type Resolve } from "./check-url.ts";

export type EgressOptions = {
  readonly fetch: (
    url: string,
    init: { readonly signal: AbortSignal; readonly headers: Record<string, string>; readonly redirect: "manual" },
  ) => Promise<Response>;
  readonly resolve?: Resolve | undefined;
  /** For tests against a server of their own. */
  readonly allowLoopback?: boolean | undefined;
};

/**
 * The only door to the network for tools: http(s) to public hosts. A redirect comes back as the 3xx answer, so that the
 * caller asks again for the next hop and the next hop is checked like the first. spec: S-1
 */
export function createEgressFetch(options: EgressOptions): EgressFetch {
  const send = options.fetch;
  return async (url, init) => {
    const { verdict, reason } = await checkUrl(url, { resolve: options.resolve, allowLoopback: options.allowLoopback });
    if (verdict !== "allow") throw egressRefused(reason);
    return send(url, { signal: init.signal, headers: init.headers ?? {}, redirect: "manual" });
  };
}

/** The error of `EgressFetch`; the name is the contract, callers test it instead of a class. */
export function egressRefused(reason: string): Error {
  const error = new Error(`Request refused: ${reason}`);
  error.name = "EgressRefused";
  return error;
}
