/** Import rules of the architecture; `npm run check` runs them. A rule's name says what it keeps true. */
const CAPABILITIES =
  "providers|models|prompts|tools|sandbox|permission|hooks|plugins|memory|audit|tenants|directory|secrets|observe|mcp";
const LEAVES = "^src/(contract|shared)/";
module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "contract-imports-only-zod",
      severity: "error",
      from: { path: "^src/contract/" },
      to: { pathNot: ["^src/contract/", "node_modules/zod"] },
    },
    {
      name: "shared-is-a-leaf",
      severity: "error",
      from: { path: "^src/shared/" },
      to: { path: "^(src|durable-objects)/", pathNot: LEAVES },
    },
    {
      name: "capability-sees-contract-shared-and-itself",
      severity: "error",
      from: { path: `^src/(${CAPABILITIES})/` },
      to: { path: "^(src|durable-objects)/", pathNot: [LEAVES, "^src/$1/"] },
    },
    {
      name: "vendors-stay-apart",
      severity: "error",
      from: { path: "^src/providers/([^/]+)/" },
      to: {
        path: "^src/providers/[^/]+/",
        pathNot: ["^src/providers/$1/", "^src/providers/(transport|chat-completions|messages-wire)/"],
      },
    },
    {
      name: "engine-sees-only-contract",
      severity: "error",
      from: { path: "^src/engine/" },
      to: { path: "^(src|durable-objects)/", pathNot: ["^src/engine/", "^src/contract/"] },
    },
    {
      name: "session-sees-engine-and-contract",
      severity: "error",
      from: { path: "^src/session/" },
      to: { path: "^(src|durable-objects)/", pathNot: ["^src/session/", "^src/engine/", LEAVES] },
    },
    {
      name: "http-sees-only-contract",
      severity: "error",
      from: { path: "^src/http/" },
      to: { path: "^(src|durable-objects)/", pathNot: ["^src/http/", LEAVES] },
    },
    {
      name: "client-sees-only-contract",
      severity: "error",
      from: { path: "^src/client/" },
      to: { path: "^(src|durable-objects)/", pathNot: ["^src/client/", LEAVES] },
    },
    {
      name: "cloudflare-modules-only-at-the-edge",
      severity: "error",
      from: { pathNot: ["^durable-objects/", "^src/index\\.ts$", "^sandbox-container/src/index\\.ts$"] },
      to: { path: "^cloudflare:" },
    },
    {
      name: "container-worker-sees-contract-and-shared",
      severity: "error",
      from: { path: "^sandbox-container/" },
      to: { path: "^(src|durable-objects|sandbox-server|test)/", pathNot: LEAVES },
    },
    {
      name: "hono-only-in-http",
      severity: "error",
      from: { path: "^(src|durable-objects)/", pathNot: "^src/http/" },
      to: { path: "node_modules/hono" },
    },
    {
      name: "sandbox-server-sees-only-contract",
      severity: "error",
      from: { path: "^sandbox-server/" },
      to: { path: "^(src|durable-objects)/", pathNot: "^src/contract/" },
    },
    {
      name: "nothing-imports-the-sandbox-server",
      severity: "error",
      from: { path: "^(src|durable-objects)/" },
      to: { path: "^sandbox-server/" },
    },
    {
      name: "remote-sandbox-runs-in-workers",
      severity: "error",
      from: { path: "^src/sandbox/remote/" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "product-never-imports-tests",
      severity: "error",
      from: { path: "^(src|durable-objects|sandbox-server)/" },
      to: { path: "^(test|bench|scripts)/" },
    },
    {
      name: "no-node-modules-in-the-engine",
      severity: "error",
      from: { path: "^src/(engine|session|contract)/" },
      to: { path: "^node:" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      extensions: [".ts"],
      exportsFields: ["exports"],
      conditionNames: ["workerd", "import", "default"],
    },
    exclude: { path: "^(dist|\\.wrangler)/" },
  },
};
