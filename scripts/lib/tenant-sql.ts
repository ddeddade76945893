import { issueText } from "../../src/contract/issue-text.ts";
import { err, ok, type Result } from "../../src/contract/result.ts";
import { TenantSettings } from "../../src/contract/tenants.ts";

export type TenantAction =
  | { readonly verb: "list" }
  | { readonly verb: "find"; readonly id: string }
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
  if (action.verb === "find") return `SELECT revoked_at FROM tenants WHERE id = ${quoted(action.id)}`;
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

/** Flags of `create` by the field of the settings they fill. */
const FLAGS: Readonly<Record<string, string>> = {
  rate_per_minute: "--rate",
  default_provider: "--provider",
  default_model: "--model",
  permission_mode: "--mode",
  allowed_models: "--models",
  sandbox: "--sandbox",
  permission_rules: "--rules",
} satisfies Record<keyof TenantSettings, string>;

/**
 * Settings from the command line, checked by the schema the Worker reads them with, and for whether a run that names
 * neither provider nor model can begin (G-5). `providers`: all names there are. The error names the flag.
 */
export function tenantSettings(flags: TenantFlags, providers: readonly string[]): Result<TenantSettings, string> {
  const { rate, provider, model, mode, models, sandbox } = flags;
  const rules = readJson(flags.rules);
  if (!rules.ok) return err("--rules: must be JSON");
  const given = {
    sandbox,
    permission_rules: rules.value,
    // An empty text would count as 0, which is no limit at all.
    rate_per_minute: rate === undefined ? undefined : Number(rate.trim() || Number.NaN),
    default_provider: provider,
    default_model: model,
    permission_mode: mode,
    allowed_models: models?.split(",").map((name) => name.trim()),
  };
  const parsed = TenantSettings.safeParse(
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  );
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    if (!issue) return err("the settings do not fit");
    const [field, ...inner] = issue.path.map(String);
    return err(`${[FLAGS[field ?? ""] ?? field, ...inner].join(".")}: ${issueText(issue)}`);
  }
  if (provider !== undefined && !providers.includes(provider)) {
    return err(`--provider: must be one of ${providers.join(", ")}`);
  }
  const allowed = parsed.data.allowed_models;
  if (allowed && (model === undefined || !allowed.includes(model))) {
    return err("--models: needs --model, and that one of them: else every run that names no model is refused");
  }
  return ok(parsed.data);
}

function readJson(text: string | undefined): Result<unknown, void> {
  try {
    return ok(text === undefined ? undefined : JSON.parse(text));
  } catch {
    return err(undefined);
  }
}

/** Values that begin with a dash, as in `--rate -3`, joined to their flag, so that they are read as values. */
export function joinValues(argv: readonly string[]): string[] {
  const joined: string[] = [];
  for (const part of argv) {
    const before = joined.at(-1) ?? "";
    if (/^-\d/.test(part) && /^--[a-z]+$/.test(before)) joined[joined.length - 1] = `${before}=${part}`;
    else joined.push(part);
  }
  return joined;
}

/** Why `create` made nothing: the row that is there under this id. */
export function whyTaken(id: string, revokedAt: unknown): string {
  if (revokedAt === null || revokedAt === undefined) return `tenant ${id} exists already`;
  return `tenant ${id} was revoked at ${revokedAt}; an id is not used twice, because its audit keeps the name: take another`;
}

/** What went wrong, in the tool's words; a database without tables gets the way out. */
export function describeSql(output: string): string {
  if (!output.includes("no such table")) return output.trim() || "the database could not be reached";
  return "the database has no tenants table yet: npm run dev (local) or npm run deploy (remote) brings it up to date";
}
