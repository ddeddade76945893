import type { Hono } from "hono";
import { AuditFilter } from "../../contract/audit.ts";
import { SessionId } from "../../contract/ids.ts";
import { refuse } from "../../contract/refusal.ts";
import { ok } from "../../contract/result.ts";
import { callerOf } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { describeIssue } from "../issues.ts";
import { pageOf } from "../paging.ts";
import { jsonResponse } from "../refusals.ts";
import { resource } from "../resource.ts";

/** The caller's own audit (S-4): entries by condition, newest first, and the check of a session's chain. */
export function auditRoutes(app: Hono<AppEnv>, { audit }: Pick<AppDeps, "audit">): void {
  resource(app, "/v1/audit", {
    GET: async (c) => {
      const filter = AuditFilter.safeParse(c.req.query());
      if (!filter.success) return refuse("invalid_request_error", describeIssue(filter.error));
      const page = pageOf(c);
      if (!page.ok) return page;
      const list = await audit.query(callerOf(c).tenant, { ...filter.data, ...page.value });
      return list.ok ? ok(jsonResponse(list.value)) : list;
    },
  });
  resource(app, "/v1/audit/verify", {
    GET: async (c) => {
      const id = SessionId.safeParse(c.req.query("session_id"));
      if (!id.success) {
        const given = c.req.query("session_id") !== undefined;
        return refuse("invalid_request_error", given ? "session_id is not a session's id" : "session_id is required");
      }
      const verdict = await audit.verify(callerOf(c).tenant, id.data);
      return verdict.ok ? ok(jsonResponse(verdict.value)) : verdict;
    },
  });
}
