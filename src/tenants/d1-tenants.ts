import { type FoundTenant, TenantSettings, type TenantsPort } from "../contract/tenants.ts";
import { sha256Hex } from "../shared/digest.ts";

/** How long a look-up counts: a revoked token stops within this time in every isolate. */
const CACHE_MS = 30_000;
/** Look-ups an isolate remembers; guessed tokens push each other out, not the database. */
const CACHE_MAX = 1_000;

const FIND = "SELECT id, settings FROM tenants WHERE token_sha256 = ? AND revoked_at IS NULL";

export type D1TenantsParts = {
  readonly database: D1Database;
  /** The deployment's one token, which serves its default tenant whatever rows there are. */
  readonly single: TenantsPort;
  readonly now: () => number;
};

/**
 * Tenants as rows of D1, found by the SHA-256 of the token (G-5). Values are remembered, never promises: one made in a
 * request must not be awaited in another (workerd).
 */
export function createD1Tenants({ database, single, now }: D1TenantsParts): TenantsPort {
  const found = new Map<string, { readonly tenant: FoundTenant | undefined; readonly until: number }>();
  let any: { readonly value: boolean; readonly until: number } | undefined;

  function remember(digest: string, tenant: FoundTenant | undefined): void {
    found.delete(digest);
    found.set(digest, { tenant, until: now() + CACHE_MS });
    const oldest = found.keys().next().value;
    if (found.size > CACHE_MAX && oldest !== undefined) found.delete(oldest);
  }

  return {
    async required() {
      if (await single.required()) return true;
      if (any && any.until > now()) return any.value;
      // A revoked row counts: a deployment whose last token was revoked must not open to everybody.
      const value = (await firstOf(database.prepare("SELECT 1 AS n FROM tenants LIMIT 1"))) !== null;
      any = { value, until: now() + CACHE_MS };
      return value;
    },
    async find(token) {
      const own = await single.find(token);
      if (own) return own;
      const digest = await sha256Hex(token);
      const known = found.get(digest);
      if (known && known.until > now()) return known.tenant;
      const row = await firstOf<{ id: string; settings: string }>(database.prepare(FIND).bind(digest));
      const tenant = row ? tenantOf(row) : undefined;
      remember(digest, tenant);
      return tenant;
    },
  };
}

/** A database that has not been migrated yet has no tenants. */
async function firstOf<T>(statement: D1PreparedStatement): Promise<T | null> {
  try {
    return await statement.first<T>();
  } catch (error) {
    if (error instanceof Error && error.message.includes("no such table: tenants")) return null;
    throw error;
  }
}

/** A row whose settings cannot be read lets nobody in: what it would have forbidden is not known. */
function tenantOf({ id, settings: text }: { id: string; settings: string }): FoundTenant | undefined {
  const settings = readSettings(text);
  if (!settings) {
    console.error(JSON.stringify({ message: "tenant has unreadable settings", tenant: id }));
    return undefined;
  }
  const rate = settings.rate_per_minute;
  return { tenant: id, settings, ...(rate === undefined ? {} : { ratePerMinute: rate }) };
}

function readSettings(text: string): TenantSettings | undefined {
  try {
    return TenantSettings.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
