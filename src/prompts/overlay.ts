import type { PromptBundle, PromptContext, PromptSection } from "../contract/prompts.ts";
import { dynamicSection, staticSection, volatileSection } from "./bundle.ts";

/** A bundle made of another by replacing sections. Every override gives a new overlay; the one before stays as it was. */
export type BundleOverlay = PromptBundle & {
  overrideStatic(name: string, text: string): BundleOverlay;
  overrideDynamic(name: string, compute: (context: PromptContext) => string): BundleOverlay;
  overrideVolatile(name: string, compute: (context: PromptContext) => string, reason: string): BundleOverlay;
  /** Replaces the section of the same name; the kind may differ. */
  overrideSection(section: PromptSection): BundleOverlay;
};

/**
 * Starts an overlay of a bundle. A section keeps its place among those of its kind; a name the base does not have is
 * ignored; of two overrides of one name the later wins. spec: B-4
 */
export function overlay(base: PromptBundle): BundleOverlay {
  return overlayWith(base, new Map());
}

function overlayWith(base: PromptBundle, overrides: ReadonlyMap<string, PromptSection>): BundleOverlay {
  const sections = (): readonly PromptSection[] =>
    [...base.staticSections(), ...base.dynamicSections()].map((section) => overrides.get(section.name) ?? section);
  const override = (section: PromptSection) => overlayWith(base, new Map([...overrides, [section.name, section]]));
  return {
    staticSections: () => sections().filter((section) => section.kind === "static"),
    dynamicSections: () => sections().filter((section) => section.kind !== "static"),
    overrideStatic: (name, text) => override(staticSection(name, text)),
    overrideDynamic: (name, compute) => override(dynamicSection(name, compute)),
    overrideVolatile: (name, compute, reason) => override(volatileSection(name, compute, reason)),
    overrideSection: override,
  };
}
