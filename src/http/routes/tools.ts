import type { Hono } from "hono";
import { ok } from "../../contract/result.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { resource } from "../resource.ts";

/** H-8. */
export function toolRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "listTools">): void {
  resource(app, "/v1/tools", {
    GET: async () => {
      const tools = (await deps.listTools()).map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: inputSchema,
      }));
      return ok(jsonResponse({ tools, count: tools.length }));
    },
  });
}
