import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { Caller } from "../contract/sessions.ts";
import type { AppContext } from "./deps.ts";

/** Who asks, without a provider of their own. */
export function callerOf(c: AppContext): Caller {
  const identity = c.get("identity");
  const settings = identity?.kind === "tenant" ? identity.settings : undefined;
  return { tenant: c.get("tenant"), requestId: c.get("requestId"), ...(settings ? { settings } : {}) };
}

/**
 * Who asks, with the provider, key and base URL of the request's headers (G-3). A base URL counts only together with the
 * request's own key: the deployment's key must never travel to an address a caller chose (decisions 11).
 */
export function callerWithProvider(c: AppContext, allowBaseUrl: boolean): Answer<Caller> {
  const name = c.req.header("x-flyto-provider");
  const key = c.req.header("x-flyto-provider-key");
  const baseUrl = c.req.header("x-flyto-provider-base-url");
  if (name === undefined && key === undefined && baseUrl === undefined) return ok(callerOf(c));
  if (name !== undefined && !/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    return refuse("invalid_request_error", "X-Flyto-Provider must be a provider's name");
  }
  if (key !== undefined && !/^[\x21-\x7e]{1,4096}$/.test(key)) {
    return refuse("invalid_request_error", "X-Flyto-Provider-Key must be 1 to 4096 printable ASCII characters");
  }
  if (baseUrl !== undefined) {
    if (!allowBaseUrl) {
      return refuse("invalid_request_error", "X-Flyto-Provider-Base-Url needs ALLOW_REQUEST_BASE_URL=true");
    }
    if (key === undefined) {
      return refuse("invalid_request_error", "X-Flyto-Provider-Base-Url needs X-Flyto-Provider-Key with it");
    }
    if (!isBaseUrl(baseUrl)) {
      return refuse(
        "invalid_request_error",
        "X-Flyto-Provider-Base-Url must be an http or https URL without credentials",
      );
    }
  }
  return ok({
    ...callerOf(c),
    provider: {
      ...(name === undefined ? {} : { name: name.toLowerCase() }),
      ...(key === undefined ? {} : { key }),
      ...(baseUrl === undefined ? {} : { baseUrl }),
    },
  });
}

function isBaseUrl(text: string): boolean {
  if (text.length > 2048 || !URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.hash === "";
}
