import type { D1Migration } from "@cloudflare/vitest-plugin";
import type { RateLimiter, Session } from "../../../src/index.ts";

declare global {
  // biome-ignore lint/style/noNamespace: how the runtime's types are extended
  namespace Cloudflare {
    interface Env {
      SESSION: DurableObjectNamespace<Session>;
      LIMITER: DurableObjectNamespace<RateLimiter>;
      DB: D1Database;
      MEMORY: R2Bucket;
      /** Address of the scripted model server. */
      UPSTREAM: string;
      /** Address of the scripted MCP server; in the tests of `test/mcp` only. */
      MCP: string;
      TEST_MIGRATIONS: D1Migration[];
    }
  }
}
