import type { Hono } from "hono";
import { ok } from "../../contract/result.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { resource } from "../resource.ts";

/** H-1. */
export function healthRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "now">): void {
  resource(app, "/v1/health", {
    GET: () => ok(jsonResponse({ status: "ok", timestamp: new Date(deps.now()).toISOString() })),
  });
}
