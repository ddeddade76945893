import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a server process needs beside the code, taken from wrangler.toml and `migrations/`. */
export type ServerSetup = {
  readonly name: string;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly env: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly exports: Readonly<Record<string, { readonly type: "durable-object"; readonly storage: "sqlite" }>>;
  readonly migrations: readonly string[];
};

/**
 * Builds the Worker the way a deploy does and keeps it in a temporary folder with the setup of its server. Once per test
 * run is enough; the folder is the caller's to remove.
 */
export async function buildBundle(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "flyto-bundle-"));
  // The toolchain's own Node, whatever Node started the tests.
  const command = [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "deploy", "--dry-run", "--outdir", dir];
  await promisify(execFile)(join(ROOT, "node_modules/.bin/node"), command, { cwd: ROOT });
  const { unstable_readConfig, unstable_splitSqlQuery } = await import("wrangler");
  const config = unstable_readConfig({ config: join(ROOT, "wrangler.toml") }, { hideWarnings: true });
  const name = config.name ?? "app";
  const env: Record<string, Record<string, unknown>> = {};
  const classes: string[] = [];
  for (const { name: binding, class_name } of config.durable_objects.bindings) {
    env[binding] = { type: "durable-object", worker: name, exportName: class_name };
    classes.push(class_name);
  }
  for (const { binding, database_name } of config.d1_databases) env[binding] = { type: "d1", id: database_name };
  for (const { binding, bucket_name } of config.r2_buckets) env[binding] = { type: "r2", name: bucket_name };
  const setup: ServerSetup = {
    name,
    compatibilityDate: config.compatibility_date ?? "",
    compatibilityFlags: config.compatibility_flags,
    env,
    exports: Object.fromEntries(classes.map((it) => [it, { type: "durable-object", storage: "sqlite" } as const])),
    migrations: (await migrationFiles()).flatMap(unstable_splitSqlQuery),
  };
  await writeFile(join(dir, "setup.json"), JSON.stringify(setup));
  return dir;
}

async function migrationFiles(): Promise<string[]> {
  const dir = join(ROOT, "migrations");
  const names = (await readdir(dir)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(names.map((name) => readFile(join(dir, name), "utf8")));
}
