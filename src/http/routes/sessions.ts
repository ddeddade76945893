import type { Hono } from "hono";
import { CreateSessionRequest } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerOf } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { sessionIdOf } from "../request-path.ts";
import { resource } from "../resource.ts";

/** H-3, H-4, H-5. */
export function sessionRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config">): void {
  const { sessions, config } = deps;
  resource(app, "/v1/sessions", {
    POST: async (c) => {
      const request = await readJson(c.req.raw, CreateSessionRequest, {
        max: config.MAX_BODY_BYTES,
        emptyIsFine: true,
      });
      if (!request.ok) return request;
      const created = await sessions.create(callerOf(c), request.value.session_id);
      return created.ok ? ok(jsonResponse(created.value, 201)) : created;
    },
  });
  resource(app, "/v1/sessions/:id", {
    GET: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const info = await sessions.info(callerOf(c), id.value);
      return info.ok ? ok(jsonResponse(info.value)) : info;
    },
    DELETE: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const removed = await sessions.remove(callerOf(c), id.value);
      return removed.ok ? ok(jsonResponse({ status: "deleted" })) : removed;
    },
  });
}
