import type { BundleKey } from "../contract/prompt-parts.ts";
import type { PromptBundle } from "../contract/prompts.ts";
import { bundleFromFunctions, staticSection } from "./bundle.ts";
import { CHINESE_TEXTS } from "./chinese-texts.ts";
import { createDynamicSections } from "./dynamic-sections.ts";
import { ENGLISH_TEXTS } from "./english-texts.ts";
import { STATIC_NAMES, type StaticTexts } from "./section-names.ts";
import { CHINESE_WORDING, ENGLISH_WORDING, type Wording } from "./wording.ts";

function programmingBundle(texts: StaticTexts, wording: Wording): PromptBundle {
  const fixed = STATIC_NAMES.map((name) => staticSection(name, texts[name]));
  const dynamic = createDynamicSections(wording);
  return bundleFromFunctions(
    () => fixed,
    () => dynamic,
  );
}

/** Programming, in English: the default bundle. spec: B-3 */
export const ENGLISH_BUNDLE: PromptBundle = programmingBundle(ENGLISH_TEXTS, ENGLISH_WORDING);
/** The same in Chinese, section by section. spec: B-3 */
export const CHINESE_BUNDLE: PromptBundle = programmingBundle(CHINESE_TEXTS, CHINESE_WORDING);

export const DEFAULT_KEY: BundleKey = { model_family: "claude", scenario: "programming" };

/** The keys the Chinese bundle is registered for. */
export const CHINESE_BUNDLE_KEYS: readonly BundleKey[] = ["qwen", "deepseek", "ernie", "glm", "hunyuan"].map(
  (model_family) => ({ model_family, scenario: "programming" }),
);
