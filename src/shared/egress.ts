export {
  checkHops,
  checkUrl,
  isAllowedDomain,
  MAX_HOPS,
  type Resolve,
  type UrlOptions,
  type UrlVerdict,
} from "./egress/check-url.ts";
export { createEgressFetch, type EgressOptions, egressRefused } from "./egress/egress-fetch.ts";
export { createDohResolver, type DohOptions } from "./egress/resolver.ts";
