import type { Result } from "../../src/contract/result.ts";
import { TenantSettings } from "../../src/contract/tenants.ts";

export type TenantAction =
  | { readonly verb: "list" }
  | {
      readonly verb: "create" | "rotate" | "revoke";
      readonly id: string;
      readonly digest: string;
      readonly at: string;
      readonly settings: TenantSettings;
    };

/** The statement of one action; it gives a row exactly when it changed something. */
export function tenantStatement(action: TenantAction): string {
  if (action.verb === "list") return "SELECT id, created_at, revoked_at, settings FROM tenants ORDER BY id";
  const [id, digest, at] = [action.id, action.digest, action.at].map(quoted);
  const { verb } = action;
  switch (verb) {
    case "create":
      return `INSERT INTO tenants (id, token_sha256, created_at, settings)
        VALUES (${id}, ${digest}, ${at}, ${quoted(JSON.stringify(action.settings))})
        ON CONFLICT (id) DO NOTHING RETURNING id`;
    case "rotate":
      return `UPDATE tenants SET token_sha256 = ${digest} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`;
    case "revoke":
      return `UPDATE tenants SET revoked_at = ${at} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`;
    default:
      return verb satisfies never;
  }
}

/** A text literal. The command takes no bound values. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export type TenantFlags = {
  readonly rate?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly mode?: string | undefined;
  readonly models?: string | undefined;
  readonly sandbox?: string | undefined;
  /** JSON, as in `PERMISSION_RULES`. */
  readonly rules?: string | undefined;
};

/** Settings from the command line, checked by the schema the Worker reads them with. */
export function tenantSettings(flags: TenantFlags): Result<TenantSettings, string> {
  const { rate, provider, model, mode, models, sandbox } = flags;
  const rules = readJson(flags.rules);
  if (!rules.ok) return { ok: false, error: "permission_rules: must be JSON" };
  const given = {
    sandbox,
    permission_rules: rules.value,
    // An empty text would count as 0, which is no limit at all.
    rate_per_minute: rate === undefined ? undefined : Number(rate || Number.NaN),
    default_provider: provider,
    default_model: model,
    permission_mode: mode,
    allowed_models: models?.split(",").map((name) => name.trim()),
  };
  const parsed = TenantSettings.safeParse(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  );
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, error: `${issue?.path.join(".")}: ${issue?.message}` };
}

function readJson(text: string | undefined): Result<unknown, void> {
  try {
    return { ok: true, value: text === undefined ? undefined : JSON.parse(text) };
  } catch {
    return { ok: false, error: undefined };
  }
}

/** What went wrong, in the tool's words; a database without tables gets the way out. */
export function describeSql(output: string): string {
  if (!output.includes("no such table")) return output.trim() || "the database could not be reached";
  return "the database has no tenants table yet: npm run dev (local) or npm run deploy (remote) brings it up to date";
}
