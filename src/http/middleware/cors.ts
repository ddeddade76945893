import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../deps.ts";

const METHODS = "GET, POST, PUT, DELETE, OPTIONS";
const BASE_HEADERS = "Content-Type, Authorization";
/** The product's own request headers; named only to a preflight that asks for one of them. */
const OWN_HEADERS = [
  "X-Flyto-Provider",
  "X-Flyto-Provider-Key",
  "X-Flyto-Provider-Base-Url",
  "Last-Event-ID",
  "Idempotency-Key",
  "X-Request-ID",
];

function allowHeaders(asked: string | undefined): string {
  const names = new Set((asked ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return OWN_HEADERS.some((name) => names.has(name.toLowerCase()))
    ? `${BASE_HEADERS}, ${OWN_HEADERS.join(", ")}`
    : BASE_HEADERS;
}

/**
 * Cross-origin access (H-13) for a comma list of origins or `*`; none configured means no header at all. An origin is
 * compared whole, `null` never matches, and credentials are never allowed. Preflights end here and need no token.
 */
export function cors(setting: string): MiddlewareHandler<AppEnv> {
  const origins = new Set(
    setting
      .split(",")
      .map((origin) => origin.trim().replace(/\/$/, ""))
      .filter((origin) => origin !== "" && origin !== "null"),
  );
  const any = origins.has("*");
  return async (c, next) => {
    if (origins.size === 0) return await next();
    const origin = c.req.header("origin");
    const asked = c.req.header("access-control-request-headers");
    const preflight =
      c.req.method === "OPTIONS" && origin !== undefined && c.req.header("access-control-request-method") !== undefined;
    if (preflight) c.res = new Response(null, { status: 204 });
    else await next();
    const headers = c.res.headers;
    if (!any) headers.append("vary", "Origin");
    if (!any && (origin === undefined || !origins.has(origin))) return;
    headers.set("access-control-allow-origin", any ? "*" : (origin ?? ""));
    headers.set("access-control-allow-methods", METHODS);
    headers.set("access-control-allow-headers", allowHeaders(asked));
    headers.set("access-control-expose-headers", "X-Request-ID");
    headers.set("access-control-max-age", "3600");
  };
}
