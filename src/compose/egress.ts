import type { Config } from "../contract/config.ts";
import type { EgressFetch } from "../contract/tools.ts";
import { createDohResolver, createEgressFetch } from "../shared/egress.ts";

type Resolve = ReturnType<typeof createDohResolver>;

/** Looks up names before they are asked for, where the deployment has a resolver; one that fails refuses the address. */
export function composeResolver(config: Config): Resolve | undefined {
  const endpoint = config.DNS_RESOLVER_URL;
  if (endpoint === undefined) return undefined;
  return createDohResolver({ endpoint, fetch: (url, init) => fetch(url, init) });
}

/** The tools' door to the network. */
export function composeEgress(config: Config): EgressFetch {
  return createEgressFetch({ fetch: (url, init) => fetch(url, init), resolve: composeResolver(config) });
}
