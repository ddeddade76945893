import type { Hono } from "hono";
import { CompactRequest, CreateSessionRequest } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerOf, callerWithProvider } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { idempotencyOf } from "../idempotency.ts";
import { pageOf } from "../paging.ts";
import { jsonResponse } from "../refusals.ts";
import { sessionIdOf } from "../request-path.ts";
import { resource } from "../resource.ts";

/** H-3, H-4, H-5; H-20: the list, figures, forks; `compact` (C-2). */
export function sessionRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config">): void {
  const { sessions, config } = deps;
  resource(app, "/v1/sessions", {
    POST: async (c) => {
      const request = await readJson(c.req.raw, CreateSessionRequest, {
        max: config.MAX_BODY_BYTES,
        emptyIsFine: true,
      });
      if (!request.ok) return request;
      const repeat = await idempotencyOf(c, request.value);
      if (!repeat.ok) return repeat;
      const created = await sessions.create(callerOf(c), request.value.session_id, repeat.value);
      return created.ok ? ok(jsonResponse(created.value, 201)) : created;
    },
    GET: async (c) => {
      const page = pageOf(c);
      if (!page.ok) return page;
      const list = await sessions.list(callerOf(c), page.value);
      return list.ok ? ok(jsonResponse(list.value)) : list;
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
  resource(app, "/v1/sessions/:id/stats", {
    GET: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const stats = await sessions.stats(callerOf(c), id.value);
      return stats.ok ? ok(jsonResponse(stats.value)) : stats;
    },
  });
  resource(app, "/v1/sessions/:id/compact", {
    POST: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const request = await readJson(c.req.raw, CompactRequest, { max: config.MAX_BODY_BYTES, emptyIsFine: true });
      if (!request.ok) return request;
      const caller = callerWithProvider(c, config.ALLOW_REQUEST_BASE_URL);
      if (!caller.ok) return caller;
      const done = await sessions.compact(caller.value, id.value, request.value);
      return done.ok ? ok(jsonResponse(done.value)) : done;
    },
  });
  resource(app, "/v1/sessions/:id/fork", {
    POST: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const body = { max: config.MAX_BODY_BYTES, emptyIsFine: true };
      const request = await readJson(c.req.raw, CreateSessionRequest, body);
      if (!request.ok) return request;
      const forked = await sessions.fork(callerOf(c), id.value, request.value.session_id);
      return forked.ok ? ok(jsonResponse(forked.value, 201)) : forked;
    },
  });
}
