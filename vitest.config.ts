import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

type Inject = (key: "upstreamUrl" | "mcpUrl") => string;

/** Tests inside workerd against the product's own entry; `test/<name>` with settings of their own. */
function insideWorkerd(name: string, globalSetup: string, more: (inject: Inject) => Record<string, string>) {
  return {
    plugins: [
      cloudflareTest(async ({ inject }) => ({
        wrangler: { configPath: "./wrangler.toml" },
        miniflare: {
          bindings: {
            UPSTREAM: inject("upstreamUrl"),
            TEST_MIGRATIONS: await readD1Migrations("./migrations"),
            RATE_LIMIT_PER_MINUTE: "0",
            ANTHROPIC_BASE_URL: inject("upstreamUrl"),
            OPENAI_BASE_URL: inject("upstreamUrl"),
            OPENROUTER_BASE_URL: inject("upstreamUrl"),
            MINIMAX_BASE_URL: inject("upstreamUrl"),
            GEMINI_BASE_URL: inject("upstreamUrl"),
            OLLAMA_BASE_URL: inject("upstreamUrl"),
            LMSTUDIO_BASE_URL: inject("upstreamUrl"),
            UPSTREAM_IDLE_SECONDS: "2",
            // A model whose window is soon full; the fast model is the deployment's own.
            MODEL_OVERRIDES:
              '{"narrow": {"provider": "anthropic", "context_window": 30000, "max_output_tokens": 1000}}',
            ENCRYPTION_KEY: "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
            KEEPALIVE_SECONDS: "0.5",
            HEARTBEAT_SECONDS: "1",
            ...more(inject),
          },
        },
      })),
    ],
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: [globalSetup],
      setupFiles: ["./test/workers/support/setup.ts"],
    },
  };
}

/** Three levels: `unit` in Node, `workers` (and `mcp`, with an MCP server) inside workerd with real objects, D1 and R2, `wire` against the server as a process. */
export default defineConfig({
  test: {
    // The Worker's request log is worth reading only beside a failure.
    silent: "passed-only",
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], environment: "node" } },
      insideWorkerd("workers", "./test/support/upstream-global.ts", () => ({})),
      insideWorkerd("mcp", "./test/support/mcp-global.ts", (inject) => ({
        MCP: inject("mcpUrl"),
        SECRET_LAB: "lab-token-77aa88bb",
        SECRET_SHORT: "sekret-99",
        PERMISSION_TIMEOUT_SECONDS: "4",
        MCP_SERVERS: JSON.stringify([
          {
            name: "lab",
            url: `${inject("mcpUrl")}/sse`,
            headers: { Authorization: "Bearer [SECRET:LAB]", "X-Lab": "plain-header-value" },
            timeout_seconds: 2,
            read_only_tools: ["look"],
          },
          { name: "ill", url: `${inject("mcpUrl")}/broken` },
        ]),
      })),
      {
        test: {
          name: "wire",
          include: ["test/wire/**/*.test.ts"],
          environment: "node",
          globalSetup: ["./test/wire/support/setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
