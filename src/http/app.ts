import { Hono } from "hono";
import type { AppDeps, AppEnv } from "./deps.ts";
import { bearerAuth } from "./middleware/bearer-auth.ts";
import { cors } from "./middleware/cors.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { onlyErrors, panicAnswer } from "./middleware/recovery.ts";
import { requestLog } from "./middleware/request-log.ts";
import { refusalResponse } from "./refusals.ts";
import { rawPath } from "./request-path.ts";
import { agentRunRoutes } from "./routes/agent-run.ts";
import { auditRoutes } from "./routes/audit.ts";
import { decisionRoutes } from "./routes/decisions.ts";
import { eventRoutes } from "./routes/events.ts";
import { fileRoutes } from "./routes/files.ts";
import { healthRoutes } from "./routes/health.ts";
import { messageRoutes } from "./routes/messages.ts";
import { modelRoutes } from "./routes/models.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { toolRoutes } from "./routes/tools.ts";

/**
 * The HTTP surface (H). Made once per isolate: it holds routes and what the rate limit refused lately, nothing of any
 * request. From outside in: recovery → log and request id → CORS → rate limit → token (H-12).
 */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: rawPath });
  app.onError(panicAnswer(deps.log));
  app.notFound(() => refusalResponse({ type: "not_found_error", message: "no such endpoint" }));
  app.use(requestLog(deps), cors(deps.config.CORS_ORIGINS), onlyErrors(), rateLimit(deps), bearerAuth(deps));
  healthRoutes(app, deps);
  toolRoutes(app, deps);
  modelRoutes(app, deps);
  agentRunRoutes(app, deps);
  sessionRoutes(app, deps);
  messageRoutes(app, deps);
  eventRoutes(app, deps);
  decisionRoutes(app, deps);
  fileRoutes(app, deps);
  auditRoutes(app, deps);
  return app;
}
