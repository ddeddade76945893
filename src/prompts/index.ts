export {
  type AssembledPrompt,
  type AssembleOptions,
  assemblePrompt,
  type StoredDynamic,
  toSystemBlocks,
} from "./assemble.ts";
export { bundleFromFunctions, dynamicSection, staticSection, volatileSection } from "./bundle.ts";
export { cacheBreak, cachePrefix, quickDigest } from "./cache-break.ts";
export { familyOf } from "./family.ts";
export { type BundleOverlay, overlay } from "./overlay.ts";
export { CHINESE_BUNDLE, CHINESE_BUNDLE_KEYS, DEFAULT_KEY, ENGLISH_BUNDLE } from "./programming-bundles.ts";
export { type BundleRegistry, createBundleRegistry, type KeyedBundle } from "./registry.ts";
