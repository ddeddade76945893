import type { Hono } from "hono";
import { runRequest } from "../../contract/requests.ts";
import { ok } from "../../contract/result.ts";
import { readJson } from "../body.ts";
import { callerWithProvider } from "../caller.ts";
import type { AppDeps, AppEnv } from "../deps.ts";
import { resource } from "../resource.ts";
import { streamRun } from "../sse-run.ts";
import { streamResponse } from "../sse-sink.ts";
import { tokenWatch } from "../token-watch.ts";

/** H-2: one run without a session; it lives as long as its client stays. */
export function agentRunRoutes(app: Hono<AppEnv>, deps: Pick<AppDeps, "runner" | "config" | "log" | "tenants">): void {
  const { config } = deps;
  const schema = runRequest(config.MAX_PROMPT_CHARS);
  resource(app, "/v1/agent/run", {
    POST: async (c) => {
      const caller = callerWithProvider(c, config.ALLOW_REQUEST_BASE_URL);
      if (!caller.ok) return caller;
      const request = await readJson(c.req.raw, schema, { max: config.MAX_BODY_BYTES });
      if (!request.ok) return request;
      const controller = new AbortController();
      const { signal } = c.req.raw;
      if (signal.aborted) controller.abort();
      else signal.addEventListener("abort", () => controller.abort(), { once: true });
      const run = await deps.runner.run(caller.value, request.value, controller.signal);
      if (!run.ok) return run;
      const readable = streamRun(run.value, {
        controller,
        token: tokenWatch(c, deps),
        keepaliveMs: config.KEEPALIVE_SECONDS * 1000,
        onBug: (error) =>
          deps.log("error", "run failed", {
            request_id: caller.value.requestId,
            error: error instanceof Error ? `${error.name}: ${error.message}` : "a value that is no Error was thrown",
          }),
      });
      return ok(streamResponse(readable));
    },
  });
}
