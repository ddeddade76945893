import type { Hono } from "hono";
import type { Answer } from "../contract/refusal.ts";
import type { AppContext, AppEnv } from "./deps.ts";
import { refusalResponse } from "./refusals.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
export type Handler = (c: AppContext) => Answer<Response> | Promise<Answer<Response>>;
export type Handlers = { readonly [M in (typeof METHODS)[number]]?: Handler };

/**
 * Registers everything one path can do. Any other method is 405 with `Allow` (H-10); OPTIONS names the methods and needs
 * no token, so it must never reach a handler. HEAD is answered as GET without a body, by the router.
 */
export function resource(app: Hono<AppEnv>, path: string, handlers: Handlers): void {
  const methods = METHODS.filter((method) => handlers[method] !== undefined);
  const allow = [...methods, ...(handlers.GET ? ["HEAD"] : []), "OPTIONS"].join(", ");
  for (const method of methods) {
    const handler = handlers[method];
    if (!handler) continue;
    app.on(method, path, async (c) => {
      const answer = await handler(c);
      return answer.ok ? answer.value : refusalResponse(answer.error);
    });
  }
  app.all(path, (c) => {
    if (c.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
    return refusalResponse(
      { type: "invalid_request_error", message: `method ${c.req.method} is not allowed here` },
      { status: 405, headers: { allow } },
    );
  });
}
