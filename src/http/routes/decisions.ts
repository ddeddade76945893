import type { Hono } from "hono";
import { CancelRequest, PermissionReply } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerOf } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { decisionIdOf, sessionIdOf } from "../request-path.ts";
import { type Handler, resource } from "../resource.ts";

/** H-7 (and its alias for every kind of decision, E-16), the list of open ones and the cancel of H-20. */
export function decisionRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config">): void {
  const { sessions, config } = deps;
  const max = config.MAX_BODY_BYTES;
  const answer: Handler = async (c) => {
    const id = sessionIdOf(c);
    if (!id.ok) return id;
    const decision = decisionIdOf(c);
    if (!decision.ok) return decision;
    const reply = await readJson(c.req.raw, PermissionReply, { max });
    if (!reply.ok) return reply;
    const answered = await sessions.answer(callerOf(c), id.value, decision.value, reply.value);
    return answered.ok ? ok(jsonResponse({ status: "ok" })) : answered;
  };
  resource(app, "/v1/sessions/:id/permissions", {
    GET: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const open = await sessions.openDecisions(callerOf(c), id.value);
      return open.ok ? ok(jsonResponse({ data: open.value })) : open;
    },
  });
  resource(app, "/v1/sessions/:id/permissions/:decision", { POST: answer });
  resource(app, "/v1/sessions/:id/decisions/:decision", { POST: answer });
  resource(app, "/v1/sessions/:id/cancel", {
    POST: async (c) => {
      const id = sessionIdOf(c);
      if (!id.ok) return id;
      const request = await readJson(c.req.raw, CancelRequest, { max, emptyIsFine: true });
      if (!request.ok) return request;
      const cancelled = await sessions.cancel(callerOf(c), id.value, request.value);
      return cancelled.ok ? ok(jsonResponse(cancelled.value)) : cancelled;
    },
  });
}
