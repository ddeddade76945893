import { Config } from "../contract/config.ts";
import type { NewId } from "../contract/ids.ts";
import { issuePath, issueText } from "../contract/issue-text.ts";
import type { AiBinding } from "../providers/index.ts";
import { toHex } from "../shared/digest.ts";
import { wrongSecretVar } from "./secret-vars.ts";

/** What a deployment binds. D1 and R2 are optional: without them audit and memory stay in objects' SQLite. */
export type Bindings = {
  readonly DB?: D1Database;
  readonly MEMORY?: R2Bucket;
  /** Workers AI; optional as well. */
  readonly AI?: AiBinding;
  /** The Worker with the containers, where the `cloudflare` sandbox is reached by service binding. */
  readonly SANDBOX?: Fetcher;
  /** Worker vars and secrets, all text. */
  readonly [name: string]: unknown;
};

/** Every object of an isolate is made with the same bindings, and asks. */
const read = new WeakMap<Bindings, Config>();

/**
 * The deployment's settings (G-1, G-2). Throws for a wrong one, with its name and what is allowed, never its value: nothing
 * starts with it. Secrets that are too short to be hidden are wrong too (S-5).
 */
export function readConfig(env: Bindings): Config {
  const config = read.get(env) ?? parseConfig(env);
  read.set(env, config);
  return config;
}

function parseConfig(env: Bindings): Config {
  // An empty text counts as not set, but where it says something of its own.
  const set = Object.entries(env).filter(([name, value]) => value !== "" || name === "CLIENT_IP_HEADER");
  const parsed = Config.safeParse(Object.fromEntries(set));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw issue ? settingError(issuePath(issue), issueText(issue)) : parsed.error;
  }
  const secret = wrongSecretVar(env);
  if (secret) throw settingError(secret.name, secret.why);
  return parsed.data;
}

const CONFIGURATION = "configuration: ";

/** What is thrown for a wrong setting. `why` is shown to clients and in the log, so it never holds a value. */
export function settingError(name: string, why: string): Error {
  return new Error(`${CONFIGURATION}${name}: ${why}`);
}

/** The text of an error about a setting; undefined for every other error, whose text is for no client. */
export function settingFault(error: unknown): string | undefined {
  return error instanceof Error && error.message.startsWith(CONFIGURATION) ? error.message : undefined;
}

export const newId: NewId = (prefix) => {
  const bytes = crypto.getRandomValues(new Uint8Array(prefix === "sess" ? 6 : 12));
  return `${prefix}_${toHex(bytes)}`;
};

/** A var or secret that is set. */
export function setting(env: Bindings, name: string): string | undefined {
  const value = env[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
