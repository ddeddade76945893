import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { TenantId } from "../src/contract/ids.ts";
import { PROVIDER_NAMES } from "../src/providers/index.ts";
import {
  describeSql,
  joinValues,
  type TenantAction,
  tenantSettings,
  tenantStatement,
  whyTaken,
} from "./lib/tenant-sql.ts";
import { wranglerOutput } from "./lib/wrangler.ts";

const USAGE = `usage: npm run tenant -- create ID [--rate N] [--provider P] [--model M] [--mode MODE] [--models A,B]
                [--sandbox BACKEND] [--rules JSON] [--remote]
       npm run tenant -- rotate|revoke ID [--remote]
       npm run tenant -- list [--remote]
Without --remote the local database (npm run dev) is meant. A token is shown once; only its SHA-256 is stored.`;

/** Runs one statement in the database; gives its rows. */
function execute(sql: string, place: "--local" | "--remote"): Record<string, unknown>[] {
  const done = wranglerOutput(["d1", "execute", "DB", place, "--json", "--command", sql]);
  const start = done.text.indexOf("[");
  if (done.code !== 0 || start < 0) fail(describeSql(done.text));
  const [first] = JSON.parse(done.text.slice(start)) as { results?: Record<string, unknown>[] }[];
  return first?.results ?? [];
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function readArgs() {
  try {
    return parseArgs({
      args: joinValues(process.argv.slice(2)),
      allowPositionals: true,
      options: {
        remote: { type: "boolean", default: false },
        rate: { type: "string" },
        provider: { type: "string" },
        model: { type: "string" },
        mode: { type: "string" },
        models: { type: "string" },
        sandbox: { type: "string" },
        rules: { type: "string" },
      },
    });
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

/** Providers a tenant may default to. Those of the deployment's own code can only be asked for where that code runs in Node. */
async function providerNames(wanted: string | undefined): Promise<string[]> {
  const names: string[] = [...PROVIDER_NAMES];
  if (wanted === undefined || names.includes(wanted)) return names;
  try {
    const { extensions } = await import("../src/extensions.ts");
    return [...names, ...extensions.providers.map(({ name }) => name)];
  } catch {
    console.error(`note: src/extensions.ts does not load outside the Worker; taking its word for provider ${wanted}`);
    return [...names, wanted];
  }
}

const { values, positionals } = readArgs();
const place = values.remote ? "--remote" : "--local";
const [verb, id] = positionals;
const tenant = TenantId.safeParse(id);

if (verb === "list" && positionals.length === 1) {
  for (const row of execute(tenantStatement({ verb: "list" }), place)) {
    console.log(`${row.id}\t${row.revoked_at === null ? "active" : `revoked ${row.revoked_at}`}\t${row.settings}`);
  }
} else if ((verb === "create" || verb === "rotate" || verb === "revoke") && positionals.length === 2) {
  if (!tenant.success) fail(`tenant id ${tenant.error.issues[0]?.message}`);
  if (tenant.data === "default") fail("the tenant default is served by the deployment's own BEARER_TOKEN");
  const settings = tenantSettings(values, await providerNames(values.provider));
  if (!settings.ok) fail(settings.error);
  const token = `flyto_${randomBytes(32).toString("base64url")}`;
  const action: TenantAction = {
    verb,
    id: tenant.data,
    digest: createHash("sha256").update(token).digest("hex"),
    at: new Date().toISOString(),
    settings: settings.value,
  };
  const changed = execute(tenantStatement(action), place).length > 0;
  if (!changed && verb === "create") {
    const [row] = execute(tenantStatement({ verb: "find", id: tenant.data }), place);
    fail(whyTaken(tenant.data, row?.revoked_at));
  }
  if (!changed) fail(`there is no active tenant ${id}`);
  if (verb === "revoke") console.log(`tenant ${id} is revoked; its token stops within a minute`);
  else console.log(`tenant ${id}: its token, shown this once:\n${token}`);
} else {
  fail(USAGE);
}
