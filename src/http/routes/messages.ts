import type { Hono } from "hono";
import { messageRequest } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerOf, callerWithProvider } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { idempotencyOf } from "../idempotency.ts";
import { pageOf } from "../paging.ts";
import { jsonResponse } from "../refusals.ts";
import { sessionIdOf } from "../request-path.ts";
import { resource } from "../resource.ts";
import { streamFeed } from "../sse-gateway.ts";
import { streamResponse } from "../sse-sink.ts";
import { tokenWatch } from "../token-watch.ts";

/** H-6: a message and its stream; H-20: the history. */
export function messageRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config" | "tenants">): void {
  const { sessions, config } = deps;
  const schema = messageRequest(config.MAX_PROMPT_CHARS);
  resource(app, "/v1/sessions/:id/messages", {
    POST: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const caller = callerWithProvider(c, config.ALLOW_REQUEST_BASE_URL);
      if (!caller.ok) return caller;
      const request = await readJson(c.req.raw, schema, { max: config.MAX_BODY_BYTES });
      if (!request.ok) return request;
      const repeat = await idempotencyOf(c, request.value);
      if (!repeat.ok) return repeat;
      const feed = await sessions.send(caller.value, id.value, request.value, repeat.value);
      if (!feed.ok) return feed;
      const keepaliveMs = config.KEEPALIVE_SECONDS * 1000;
      return ok(
        streamResponse(streamFeed(feed.value, { signal: c.req.raw.signal, keepaliveMs, token: tokenWatch(c, deps) })),
      );
    },
    GET: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const page = pageOf(c);
      if (!page.ok) return page;
      const history = await sessions.history(callerOf(c), id.value, page.value);
      return history.ok ? ok(jsonResponse(history.value)) : history;
    },
  });
}
