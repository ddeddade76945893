import { BundleKey } from "../contract/prompt-parts.ts";
import type { PromptBundle } from "../contract/prompts.ts";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import { CHINESE_BUNDLE, CHINESE_BUNDLE_KEYS, DEFAULT_KEY, ENGLISH_BUNDLE } from "./programming-bundles.ts";

export type KeyedBundle = { readonly key: BundleKey; readonly bundle: PromptBundle };

export type BundleRegistry = {
  /** Adds a bundle or replaces the one of that key, at any time; refuses a malformed key or a section name used twice. */
  register(key: BundleKey, bundle: PromptBundle): Answer<BundleKey>;
  /** The bundle of exactly this key, else the default; never fails. `key` is the one that was found. spec: B-1 */
  resolve(key: BundleKey): KeyedBundle;
  /** Every key, in order of registration. */
  list(): readonly BundleKey[];
};

/** A registry of its own per deployment, with the built-in bundles. Throws on a bundle it would refuse: nothing may start with a wrong prompt. spec: B-3 B-5 */
export function createBundleRegistry(options: { readonly bundles?: readonly KeyedBundle[] } = {}): BundleRegistry {
  const fallback: KeyedBundle = { key: DEFAULT_KEY, bundle: ENGLISH_BUNDLE };
  const chinese = CHINESE_BUNDLE_KEYS.map((key) => ({ key, bundle: CHINESE_BUNDLE }));
  const registered = new Map([fallback, ...chinese].map((each) => [textOf(each.key), each]));

  const register: BundleRegistry["register"] = (given, bundle) => {
    const key = BundleKey.safeParse(given);
    if (!key.success) return refuse("invalid_request_error", `bundle: ${problem(key.error.issues)}`);
    const twice = repeatedName(bundle);
    if (twice !== undefined) {
      return refuse(
        "invalid_request_error",
        `bundle ${textOf(key.data)}: section ${JSON.stringify(twice)} stands twice`,
      );
    }
    registered.set(textOf(key.data), { key: key.data, bundle });
    return ok(key.data);
  };

  for (const { key, bundle } of options.bundles ?? []) {
    const done = register(key, bundle);
    if (!done.ok) throw new Error(done.error.message);
  }
  return {
    register,
    resolve: (key) => registered.get(textOf(key)) ?? registered.get(textOf(DEFAULT_KEY)) ?? fallback,
    list: () => [...registered.values()].map(({ key }) => key),
  };
}

/** No part of a sound key holds a slash. */
function textOf({ model_family, scenario }: BundleKey): string {
  return `${model_family}/${scenario}`.toLowerCase();
}

function repeatedName(bundle: PromptBundle): string | undefined {
  const names = [...bundle.staticSections(), ...bundle.dynamicSections()].map(({ name }) => name);
  return names.find((name, at) => names.indexOf(name) !== at);
}

function problem(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  const [issue] = issues;
  return issue === undefined ? "malformed key" : `${issue.path.map(String).join(".")} ${issue.message}`.trim();
}
