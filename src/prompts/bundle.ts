import type {
  DynamicSection,
  PromptBundle,
  PromptContext,
  StaticSection,
  VolatileSection,
} from "../contract/prompts.ts";

/** A section of fixed text. */
export function staticSection(name: string, text: string): StaticSection {
  return { kind: "static", name, text };
}

/** A section computed once a session. */
export function dynamicSection(name: string, compute: (context: PromptContext) => string): DynamicSection {
  return { kind: "dynamic", name, compute };
}

/** A section computed each turn; it costs cached prompt whenever it changes, so it takes a reason. */
export function volatileSection(
  name: string,
  compute: (context: PromptContext) => string,
  reason: string,
): VolatileSection {
  return { kind: "volatile", name, compute, reason };
}

/** A bundle of its own that inherits nothing. spec: B-5 */
export function bundleFromFunctions(
  staticSections: PromptBundle["staticSections"],
  dynamicSections: PromptBundle["dynamicSections"] = () => [],
): PromptBundle {
  return { staticSections, dynamicSections };
}
