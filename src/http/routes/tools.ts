import type { Hono } from "hono";
import { ok } from "../../contract/result.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { resource } from "../resource.ts";

/** H-8. */
export function toolRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "tools">): void {
  const tools = deps.tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));
  resource(app, "/v1/tools", { GET: () => ok(jsonResponse({ tools, count: tools.length })) });
}
