import { Config } from "../contract/config.ts";
import type { NewId } from "../contract/ids.ts";
import type { AiBinding } from "../providers/index.ts";
import { toHex } from "../shared/digest.ts";

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

/** The deployment's settings; a wrong one is named, and nothing starts with it. */
export function readConfig(env: Bindings): Config {
  const config = read.get(env) ?? parseConfig(env);
  read.set(env, config);
  return config;
}

function parseConfig(env: Bindings): Config {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = Config.safeParse(set);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`configuration: ${issue?.path.join(".")}: ${issue?.message}`);
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
