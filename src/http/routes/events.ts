import type { Hono } from "hono";
import { type Answer, refuse } from "../../contract/refusal.ts";
import { ok } from "../../contract/result.ts";
import { callerOf } from "../caller.ts";
import type { AppContext, AppDeps, AppEnv } from "../deps.ts";
import { sessionIdOf } from "../request-path.ts";
import { resource } from "../resource.ts";
import { streamFeed } from "../sse-gateway.ts";
import { streamResponse } from "../sse-sink.ts";
import { tokenWatch } from "../token-watch.ts";

/** E-30: every event after `Last-Event-ID` (or `?after=`), then live, over all runs; from the beginning without either. */
export function eventRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config" | "tenants">): void {
  const { sessions, config } = deps;
  resource(app, "/v1/sessions/:id/events", {
    GET: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const after = cursorOf(c);
      if (!after.ok) return after;
      const feed = await sessions.follow(callerOf(c), id.value, after.value);
      if (!feed.ok) return feed;
      const keepaliveMs = config.KEEPALIVE_SECONDS * 1000;
      return ok(
        streamResponse(streamFeed(feed.value, { signal: c.req.raw.signal, keepaliveMs, token: tokenWatch(c, deps) })),
      );
    },
  });
}

/** The header is what a browser sends by itself when it reconnects, so it wins over the address it was first opened with. */
function cursorOf(c: AppContext): Answer<number> {
  const [name, text] =
    c.req.header("last-event-id") === undefined
      ? ["after", c.req.query("after")]
      : ["Last-Event-ID", c.req.header("last-event-id")];
  if (text === undefined) return ok(0);
  if (!/^\d{1,15}$/.test(text)) return refuse("invalid_request_error", `${name} must be an event id of this session`);
  return ok(Number(text));
}
