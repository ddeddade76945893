import { z } from "zod";
import type { Resolve } from "./check-url.ts";

const NO_ERROR = 0;
const NO_SUCH_NAME = 3;
const RECORD_TYPES = [
  ["A", 1],
  ["AAAA", 28],
] as const;
const DEFAULT_TIMEOUT_MS = 3_000;

/** The JSON form of an answer, as public resolvers give it; only what is read here. */
const DnsAnswer = z.object({
  Status: z.number(),
  Answer: z.array(z.object({ type: z.number(), data: z.string() })).optional(),
});

export type DohOptions = {
  /** For example `https://dns.example/dns-query`; a query it already has is kept. */
  readonly endpoint: string;
  readonly fetch: (
    url: string,
    init: {
      readonly headers: Record<string, string>;
      readonly signal: AbortSignal;
      /** The query goes to the resolver that was configured and to no other. */
      readonly redirect: "manual";
    },
  ) => Promise<Response>;
  /** For both questions together, milliseconds; 3,000 by default. */
  readonly timeoutMs?: number | undefined;
};

/**
 * A resolver over DNS-over-HTTPS (JSON form). Throws when either family cannot be asked, in time, for certain; the address
 * check takes that, and a name without addresses, as a refusal. A Worker has no resolver of its own and cannot pin the
 * address it connects to, so this narrows the gap for names that point at private addresses; it does not close it.
 * spec: S-1
 */
export function createDohResolver(options: DohOptions): Resolve {
  return async (hostname) => {
    const signal = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const lists = await Promise.all(RECORD_TYPES.map(([name, type]) => ask(options, hostname, name, type, signal)));
    return lists.flat();
  };
}

async function ask(
  options: DohOptions,
  hostname: string,
  name: string,
  type: number,
  signal: AbortSignal,
): Promise<string[]> {
  const url = new URL(options.endpoint);
  url.searchParams.set("name", hostname);
  url.searchParams.set("type", name);
  const response = await options.fetch(url.href, {
    headers: { accept: "application/dns-json" },
    signal,
    redirect: "manual",
  });
  if (!response.ok) throw new Error(`the resolver answered ${response.status}`);
  const { Status, Answer = [] } = DnsAnswer.parse(await response.json());
  if (Status !== NO_ERROR && Status !== NO_SUCH_NAME)
    throw new Error(`the resolver answered with DNS status ${Status}`);
  // Aliases on the way stand in the answer too.
  return Answer.flatMap((record) => (record.type === type ? [record.data] : []));
}
