import type { MiddlewareHandler } from "hono";
import { clientOf } from "../client-address.ts";
import type { AppContext, AppDeps, AppEnv } from "../deps.ts";
import { identify, isExempt } from "../identity.ts";
import { createRefusalMemory } from "../refusal-memory.ts";
import { refusalResponse } from "../refusals.ts";
import { rawPath } from "../request-path.ts";

/**
 * How long a refusal of an address counts from memory for a request with a token: the charges of valid tokens are taken
 * back, in other isolates unseen, so the address may be free again long before the retry time.
 */
const TOKEN_MEMORY_MS = 1_000;

/**
 * Answers, cancels and reconnects (decisions 12) have a bucket of their own: who used up the minute by asking must still
 * be able to answer a question, stop a run or find back to a stream.
 */
function bucketOf(c: AppContext): "calls" | "replies" {
  const path = rawPath(c.req.raw);
  const reply =
    (c.req.method === "POST" && /^\/v1\/sessions\/[^/]+\/(permissions\/[^/]+|decisions\/[^/]+|cancel)$/.test(path)) ||
    (c.req.method === "GET" && /^\/v1\/sessions\/[^/]+\/events$/.test(path));
  return reply ? "replies" : "calls";
}

/**
 * The limit at the door (H-14): the address is charged first, so that guessed tokens are limited before they cost a
 * look-up; a valid token is then charged to its tenant instead and the address gets its charge back. A tenant's own limit
 * counts even where the deployment has none.
 */
export function rateLimit(deps: Pick<AppDeps, "limiter" | "tenants" | "config" | "now">): MiddlewareHandler<AppEnv> {
  const { limiter, tenants, config, now } = deps;
  const memory = createRefusalMemory();

  /** Milliseconds to wait; 0 = charged. */
  async function charge(key: string, limit: number, maxAgeMs: number): Promise<number> {
    const remembered = memory.wait(key, now(), maxAgeMs);
    if (remembered > 0) return remembered;
    const taken = await limiter.take(key, limit);
    if (taken.allowed) return 0;
    memory.remember(key, now(), taken.retryAfterMs);
    return Math.max(1, taken.retryAfterMs);
  }

  async function giveBack(key: string): Promise<void> {
    memory.forget(key);
    await limiter.giveBack(key);
  }

  return async (c, next) => {
    const limit = config.RATE_LIMIT_PER_MINUTE;
    if (isExempt(c)) return await next();
    const bucket = bucketOf(c);
    const header = config.CLIENT_IP_HEADER;
    const client = `ip:${bucket}:${clientOf(header === "" ? undefined : c.req.header(header))}`;
    if (limit > 0) {
      const hasToken = c.req.header("authorization") !== undefined;
      const clientWait = await charge(client, limit, hasToken ? TOKEN_MEMORY_MS : Number.POSITIVE_INFINITY);
      if (clientWait > 0) return tooMany(clientWait);
    }
    const identity = await identify(c, tenants);
    if (identity.kind === "tenant") {
      const tenantLimit = identity.ratePerMinute ?? limit;
      const key = `tenant:${bucket}:${identity.tenant}`;
      const [tenantWait] = await Promise.all([
        tenantLimit === 0 ? 0 : charge(key, tenantLimit, Number.POSITIVE_INFINITY),
        limit === 0 ? undefined : giveBack(client),
      ]);
      if (tenantWait > 0) return tooMany(tenantWait);
    }
    return await next();
  };
}

function tooMany(waitMs: number): Response {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return refusalResponse(
    { type: "rate_limit_error", message: `rate limit exceeded, retry in ${seconds} s` },
    { headers: { "retry-after": String(seconds) } },
  );
}
