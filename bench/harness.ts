import { createTestHarness, type TestHarness } from "wrangler";

export type Product = { readonly url: URL; readonly server: TestHarness };

/** Starts the real Worker for a measurement: no rate limit, tables made. */
export async function startProduct(vars: Readonly<Record<string, string>>): Promise<Product> {
  const all = { DEFAULT_PROVIDER: "anthropic", RATE_LIMIT_PER_MINUTE: "0", ...vars };
  const server = createTestHarness({ workers: [{ configPath: "wrangler.toml", vars: all }] });
  const { url } = await server.listen();
  await server.getWorker().applyD1Migrations("DB");
  return { url, server };
}

/** A new session's id. */
export async function newSession(url: URL): Promise<string> {
  const response = await fetch(new URL("/v1/sessions", url), { method: "POST" });
  return ((await response.json()) as { session_id: string }).session_id;
}
