import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Three levels: `unit` in Node, `workers` inside workerd with real objects, D1 and R2, `wire` against the server as a process. */
export default defineConfig({
  test: {
    // The Worker's request log is worth reading only beside a failure.
    silent: "passed-only",
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], environment: "node" } },
      {
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
              },
            },
          })),
        ],
        test: {
          name: "workers",
          include: ["test/workers/**/*.test.ts"],
          globalSetup: ["./test/support/upstream-global.ts"],
          setupFiles: ["./test/workers/support/setup.ts"],
        },
      },
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
