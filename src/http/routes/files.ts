import type { Hono } from "hono";
import { type Answer, refuse } from "../../contract/refusal.ts";
import { ok } from "../../contract/result.ts";
import { readBytes } from "../body.ts";
import { callerOf } from "../caller.ts";
import type { AppContext, AppDeps, AppEnv } from "../deps.ts";
import { jsonResponse } from "../refusals.ts";
import { filePathOf, sessionIdOf } from "../request-path.ts";
import { type Handlers, resource } from "../resource.ts";

/** Session and path; writing needs a path, reading the root lists it. */
function targetOf(c: AppContext, rootIsFine: boolean): Answer<{ id: string; path: string }> {
  const id = sessionIdOf(c);
  if (!id.ok) return id;
  const path = filePathOf(c);
  if (!path.ok) return path;
  if (path.value === "" && !rootIsFine) return refuse("invalid_request_error", "path is required");
  return ok({ id: id.value, path: path.value });
}

/** H-20: files of a session's workspace, raw bytes in and out. Never a type a browser would run. */
export function fileRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "sessions" | "config">): void {
  const { sessions, config } = deps;
  const handlers: Handlers = {
    GET: async (c) => {
      const target = targetOf(c, true);
      if (!target.ok) return target;
      const read = await sessions.readFile(callerOf(c), target.value.id, target.value.path);
      if (!read.ok) return read;
      if (read.value.kind === "directory") return ok(jsonResponse({ entries: read.value.entries }));
      return ok(
        new Response(read.value.bytes, {
          headers: {
            "content-type": "application/octet-stream",
            "content-length": String(read.value.bytes.byteLength),
            "x-content-type-options": "nosniff",
            "content-disposition": "attachment",
          },
        }),
      );
    },
    PUT: async (c) => {
      const target = targetOf(c, false);
      if (!target.ok) return target;
      const bytes = await readBytes(c.req.raw, config.MAX_BODY_BYTES);
      if (!bytes.ok) return bytes;
      const written = await sessions.writeFile(callerOf(c), target.value.id, target.value.path, bytes.value);
      return written.ok ? ok(jsonResponse({ status: "ok" })) : written;
    },
    DELETE: async (c) => {
      const target = targetOf(c, false);
      if (!target.ok) return target;
      const removed = await sessions.removeFile(callerOf(c), target.value.id, target.value.path);
      return removed.ok ? ok(jsonResponse({ status: "deleted" })) : removed;
    },
  };
  resource(app, "/v1/sessions/:id/files", handlers);
  resource(app, "/v1/sessions/:id/files/*", handlers);
}
