import type { MiddlewareHandler } from "hono";
import type { AppContext, AppDeps, AppEnv } from "../deps.ts";
import { refusalResponse } from "../refusals.ts";

/** Only bugs are thrown: the log gets the error with the request's id, the client no detail (H-12). */
export function panicAnswer(log: AppDeps["log"]): (error: unknown, c: AppContext) => Response {
  return (error, c) => {
    const known = error instanceof Error;
    log("error", "request failed", {
      request_id: c.get("requestId"),
      error: known ? `${error.name}: ${error.message}` : "a value that is no Error was thrown",
      ...(known && error.stack !== undefined ? { stack: error.stack } : {}),
    });
    return refusalResponse({ type: "internal_error", message: "internal error" });
  };
}

/**
 * Gives a thrown value that is no Error the same way out: the router hands only Errors to its error handler, where the
 * middleware further out still adds the request id and CORS headers.
 */
export function onlyErrors(): MiddlewareHandler<AppEnv> {
  return async (_c, next) => {
    try {
      await next();
    } catch (thrown) {
      throw thrown instanceof Error ? thrown : new Error("a value that is no Error was thrown", { cause: thrown });
    }
  };
}
