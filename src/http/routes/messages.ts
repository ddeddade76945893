import type { Hono } from "hono";
import { type Answer, refuse } from "../../contract/refusal.ts";
import { messageRequest } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerOf, callerWithProvider } from "../caller.ts";
import type { AppContext, AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { sessionIdOf } from "../request-path.ts";
import { resource } from "../resource.ts";
import { streamFeed } from "../sse-gateway.ts";
import { streamResponse } from "../sse-sink.ts";

const PAGE_DEFAULT = 50;
const PAGE_MAX = 200;

/** `limit` and the opaque `cursor` of a paged list; the cursor's meaning is its maker's business. */
function pageOf(c: AppContext): Answer<{ limit: number; cursor: string | undefined }> {
  const limit = c.req.query("limit");
  const cursor = c.req.query("cursor");
  if (limit !== undefined && (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MAX)) {
    return refuse("invalid_request_error", `limit must be an integer from 1 to ${PAGE_MAX}`);
  }
  if (cursor !== undefined && !/^[A-Za-z0-9_.~=-]{1,512}$/.test(cursor)) {
    return refuse("invalid_request_error", "cursor is not one that this API gave out");
  }
  return ok({ limit: limit === undefined ? PAGE_DEFAULT : Number(limit), cursor });
}

/** H-6: a message and its stream; H-20: the history. */
export function messageRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config">): void {
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
      const feed = await sessions.send(caller.value, id.value, request.value);
      if (!feed.ok) return feed;
      const keepaliveMs = config.KEEPALIVE_SECONDS * 1000;
      return ok(streamResponse(streamFeed(feed.value, { signal: c.req.raw.signal, keepaliveMs })));
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
