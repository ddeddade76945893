import type { MiddlewareHandler } from "hono";
import { DEFAULT_TENANT } from "../../contract/ids.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { identify, isExempt } from "../identity.ts";
import { refusalResponse } from "../refusals.ts";

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The verdict on the token (H-11). A deployment without any token answers on loopback hosts only (decisions 11): put on
 * the internet by mistake it serves nobody, and a web page that points its own name at 127.0.0.1 is not served either.
 */
export function bearerAuth(deps: Pick<AppDeps, "tenants" | "config">): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (isExempt(c)) return await next();
    const identity = await identify(c, deps.tenants);
    switch (identity.kind) {
      case "tenant":
        c.set("tenant", identity.tenant);
        return await next();
      case "anonymous":
        if (!deps.config.ALLOW_ANONYMOUS && !LOOPBACK.test(new URL(c.req.url).hostname)) {
          return refusalResponse({
            type: "permission_error",
            message: "this deployment has no BEARER_TOKEN: set one, or ALLOW_ANONYMOUS=true to serve everybody",
          });
        }
        c.set("tenant", DEFAULT_TENANT);
        return await next();
      case "none":
        return refusalResponse(
          { type: "authentication_error", message: "missing Authorization header" },
          { headers: { "www-authenticate": "Bearer" } },
        );
      case "wrong":
        return refusalResponse({ type: "permission_error", message: "invalid bearer token" });
      default:
        return identity satisfies never;
    }
  };
}
