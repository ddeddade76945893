import type { Hono } from "hono";
import { ok } from "../../contract/result.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { resource } from "../resource.ts";

/** Every model of the registry, what it costs and which roles it plays (P-1, R-5, R-6). */
export function modelRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "models">): void {
  const { models } = deps;
  resource(app, "/v1/models", { GET: () => ok(jsonResponse({ models, count: models.length })) });
}
