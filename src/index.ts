import { composeWorker, type WorkerEnv } from "./app.ts";

export { RateLimiter } from "../durable-objects/rate-limiter.ts";
export { Session } from "../durable-objects/session.ts";

let app: ReturnType<typeof composeWorker> | undefined;

export default {
  fetch(request: Request, env: WorkerEnv, context: ExecutionContext): Response | Promise<Response> {
    // Made once an isolate, from bindings that do not change in it; nothing of a request is kept.
    app ??= composeWorker(env);
    return app.fetch(request, env, context);
  },
} satisfies ExportedHandler<WorkerEnv>;
