import { Hono } from "hono";
import type { AppDeps, AppEnv } from "./deps.ts";
import { requestLog } from "./middleware/request-log.ts";
import { refusalResponse } from "./refusals.ts";
import { rawPath } from "./request-path.ts";

/** What stands in for the HTTP surface where it cannot be made: every request is answered 500 with `message` (H-9, H-10). */
export function createMisconfiguredApp(deps: Pick<AppDeps, "now" | "newId" | "log">, message: string): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: rawPath });
  app.notFound(() => refusalResponse({ type: "internal_error", message }));
  app.use(requestLog(deps));
  return app;
}
