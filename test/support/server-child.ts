import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import type { ServerSetup } from "./server-bundle.ts";

/**
 * The process `startServer` starts: the bundled Worker in workerd on a free port, with objects, D1 and R2 in files.
 * Arguments: the bundle's folder, the data folder, the vars as JSON. Tells its address to the parent, and ends with it.
 */
const [bundleDir = "", dataDir = "", vars = "{}"] = process.argv.slice(2);
const setup = JSON.parse(readFileSync(join(bundleDir, "setup.json"), "utf8")) as ServerSetup;
const texts = Object.entries(JSON.parse(vars) as Record<string, string>);

const server = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  cf: false,
  resourcePersistencePath: dataDir,
  telemetry: { enabled: false },
  workers: [
    {
      config: {
        name: setup.name,
        compatibilityDate: setup.compatibilityDate,
        compatibilityFlags: [...setup.compatibilityFlags],
        manifest: {
          mainModule: "index.js",
          modulesRoot: bundleDir,
          modules: { "index.js": { type: "esm", contents: readFileSync(join(bundleDir, "index.js"), "utf8") } },
        },
        env: { ...setup.env, ...Object.fromEntries(texts.map(([name, value]) => [name, { type: "text", value }])) },
        exports: setup.exports,
      },
    },
  ],
} as ConstructorParameters<typeof Miniflare>[0]);

async function end(): Promise<void> {
  await server.dispose();
  process.exit(0);
}
process.on("SIGTERM", () => void end());
process.on("disconnect", () => void end());

const url = await server.ready;
const migrated = join(dataDir, "migrated");
if (!existsSync(migrated)) {
  const db = await server.getD1Database("DB");
  await db.batch(setup.migrations.map((statement) => db.prepare(statement)));
  writeFileSync(migrated, "");
}
process.send?.({ baseUrl: url.origin });
