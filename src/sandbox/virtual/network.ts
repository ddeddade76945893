import type { SecureFetch } from "just-bash";
import { checkUrl, MAX_HOPS } from "../../shared/egress.ts";

/** What `curl` asks for. Redirects come back as they are: each hop is checked like the first. */
export type NetworkInit = {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual";
  readonly signal: AbortSignal;
};

/** The network of a virtual sandbox; without it there is none. */
export type SandboxNetwork = {
  /** Domains that may be reached; a name covers its subdomains. */
  readonly allowDomains: readonly string[];
  /** Does the request. Must refuse private addresses by itself, see `createEgressFetch`; its errors are shown to the guest. */
  readonly fetch: (url: string, init: NetworkInit) => Promise<Response>;
};

/** Bytes of one answer: it is held in memory whole. */
const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 30_000;

type Answer = Awaited<ReturnType<SecureFetch>>;
type Request = NonNullable<Parameters<SecureFetch>[1]>;

/** The interpreter's door to the network: only allowed domains, every redirect checked, answers bounded. spec: X-2, S-1 */
export function createGuestFetch(network: SandboxNetwork, over: AbortSignal): SecureFetch {
  return async (url, request = {}) => {
    const timeout = AbortSignal.timeout(Math.min(request.timeoutMs ?? DEFAULT_TIMEOUT_MS, 600_000));
    const signal = AbortSignal.any([over, timeout, ...(request.signal ? [request.signal] : [])]);
    return follow(network, url, request, signal);
  };
}

async function follow(network: SandboxNetwork, first: string, request: Request, signal: AbortSignal): Promise<Answer> {
  const hops = request.followRedirects === false ? 0 : Math.min(request.maxRedirects ?? MAX_HOPS, MAX_HOPS);
  let url = first;
  let method = (request.method ?? "GET").toUpperCase();
  let body = request.body;
  let headers = Object.fromEntries(new Headers(request.headers ?? {}));
  for (let hop = 0; ; hop++) {
    const { verdict, reason } = await checkUrl(url, { allowDomains: network.allowDomains });
    if (verdict !== "allow") throw new Error(`Request refused: ${reason}`);
    const init = { method, headers, redirect: "manual", signal } as const;
    const response = await network.fetch(url, body === undefined ? init : { ...init, body });
    const location = response.headers.get("location");
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status) || hops === 0) {
      return answer(response, url);
    }
    await response.body?.cancel();
    if (hop >= hops) throw new Error(`Too many redirects (max ${hops})`);
    const next = new URL(location, url);
    // A stranger must not get what was meant for the first host.
    if (next.origin !== new URL(url).origin) {
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !/^(authorization|cookie)$/i.test(name)));
    }
    if (response.status === 303 || (response.status < 303 && method === "POST")) {
      method = method === "HEAD" ? "HEAD" : "GET";
      body = undefined;
    }
    url = next.href;
  }
}

async function answer(response: Response, url: string): Promise<Answer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    size += read.value.length;
    if (size > MAX_RESPONSE_BYTES) {
      await reader?.cancel();
      throw new Error(`the answer is larger than ${MAX_RESPONSE_BYTES} bytes`);
    }
    parts.push(read.value);
  }
  const body = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  const { status, statusText } = response;
  return { status, statusText, headers: Object.fromEntries(response.headers), body, url };
}
