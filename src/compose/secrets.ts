import type { Config } from "../contract/config.ts";
import type { Credentials } from "../contract/credentials.ts";
import type { Redactor, SecretScanner } from "../contract/redaction.ts";
import { commaList } from "../run-plan.ts";
import { createSecretGuard, NOOP_GUARD } from "../secrets/guard/guard.ts";
import { parseSecretRules } from "../secrets/guard/own-rules.ts";
import { createRedactor, secretProblem } from "../secrets/redactor/redactor.ts";
import type { Bindings } from "./bindings.ts";
import { mcpSecrets } from "./mcp-servers.ts";
import { secretVars } from "./secret-vars.ts";

/** Secrets by name: the deployment's (`SECRET_<NAME>`), then the request's. They are a shell's environment. */
export function secretsOf(env: Bindings, credentials: Credentials | undefined): Readonly<Record<string, string>> {
  return { ...secretVars(env), ...credentials?.secrets };
}

/** Hides every secret a run could show: registered ones, and the keys and tokens it is made with (R-2, S-5). */
export function composeRedactor(env: Bindings, credentials: Credentials | undefined): Redactor {
  const keys = Object.entries(env).flatMap(([name, value]) =>
    /_API_KEY$|_TOKEN$|^ENCRYPTION_KEY$/.test(name) && typeof value === "string" ? [[name, value] as const] : [],
  );
  const own = { ...Object.fromEntries(keys), PROVIDER_KEY: credentials?.key ?? "", ...secretsOf(env, credentials) };
  const known = new Set(Object.values(own));
  // A header that is a secret with a name of its own goes by that name.
  const headers = Object.entries(mcpSecrets(env)).filter(([, value]) => !known.has(value));
  const all = { ...Object.fromEntries(headers), ...own };
  // Too short a value would hide half of every text: secrets like that are refused before, keys and tokens left alone.
  const usable = Object.entries(all).filter(([name, value]) => secretProblem(name, value) === undefined);
  return createRedactor(Object.fromEntries(usable));
}

/** Finds secrets by their form; off where the deployment wants none. */
export function composeGuard(config: Config): SecretScanner {
  if (config.SECRET_GUARD === "off") return NOOP_GUARD;
  const rules = parseSecretRules(config.SECRET_RULES);
  if (!rules.ok) throw new Error(`configuration: SECRET_RULES: ${rules.error}`);
  return createSecretGuard({ exemptPaths: commaList(config.SECRET_GUARD_EXEMPT), rules: rules.value });
}
