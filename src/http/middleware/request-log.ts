import type { MiddlewareHandler } from "hono";
import type { AppDeps, AppEnv } from "../deps.ts";
import { rawPath } from "../request-path.ts";

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/;

/**
 * Gives every request an id, names it on every response and logs one line (H-12). An id the caller sent is kept when it
 * cannot break a header or a log line. The query is left out: clients put tokens there. A stream's line is written when
 * it begins.
 */
export function requestLog(deps: Pick<AppDeps, "now" | "newId" | "log">): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const given = c.req.header("x-request-id");
    const id = given !== undefined && REQUEST_ID.test(given) ? given : deps.newId("req");
    const start = deps.now();
    c.set("requestId", id);
    await next();
    c.res.headers.set("x-request-id", id);
    deps.log("info", "request", {
      request_id: id,
      method: c.req.method,
      path: rawPath(c.req.raw).slice(0, 512),
      status: c.res.status,
      duration_ms: deps.now() - start,
    });
  };
}
