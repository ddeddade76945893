import { secretProblem } from "../secrets/redactor/redactor.ts";

type Vars = Readonly<Record<string, unknown>>;

/** Settings that only look like a secret's name. */
const NOT_SECRETS: ReadonlySet<string> = new Set(["SECRET_GUARD", "SECRET_GUARD_EXEMPT", "SECRET_RULES"]);
const PREFIX = "SECRET_";

/** The deployment's own secrets (`SECRET_<NAME>`) by their names; an empty one counts as not set (S-5). */
export function secretVars(env: Vars): Readonly<Record<string, string>> {
  const found = entries(env).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(found.map(([name, value]) => [name.slice(PREFIX.length), value]));
}

/** The first of them that cannot be hidden, and why; never its value. One that is no text would be nobody's secret. */
export function wrongSecretVar(env: Vars): { readonly name: string; readonly why: string } | undefined {
  for (const [name, value] of entries(env)) {
    const why = typeof value === "string" ? secretProblem(name.slice(PREFIX.length), value) : "must be text";
    if (why !== undefined) return { name, why };
  }
  return undefined;
}

function entries(env: Vars): [string, unknown][] {
  return Object.entries(env).filter(
    ([name, value]) => name.startsWith(PREFIX) && !NOT_SECRETS.has(name) && value !== "" && value !== undefined,
  );
}
