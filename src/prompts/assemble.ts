import type { ModelRequest } from "../contract/model.ts";
import type {
  AssembledSection,
  PromptBundle,
  PromptContext,
  PromptSection,
  StaticSection,
} from "../contract/prompts.ts";
import { staticSection } from "./bundle.ts";

/** Texts of dynamic sections by name, empty ones included. */
export type StoredDynamic = Readonly<Record<string, string>>;

export type AssembleOptions = {
  /** A prompt of the request's own, in place of all static sections; it becomes the one section `system_prompt`. */
  readonly replaceStatic?: string | undefined;
};

export type AssembledPrompt = {
  /** Static, dynamic, volatile; without those that have nothing to say. */
  readonly sections: readonly AssembledSection[];
  /** To be stored with the session and given back until clear or compact, together with the key of the bundle and the model. */
  readonly dynamic: StoredDynamic;
};

/**
 * Makes the prompt of a turn. Dynamic texts are taken from `stored` where it has them, so that they stay the same to the
 * byte over a session; volatile ones are always computed. What a section throws is thrown. spec: B-2
 */
export function assemblePrompt(
  bundle: PromptBundle,
  context: PromptContext,
  stored: StoredDynamic = {},
  options: AssembleOptions = {},
): AssembledPrompt {
  const all: readonly PromptSection[] = [...fixed(bundle, options), ...bundle.dynamicSections()];
  const texts = all.map((section) => ({ section, text: textOf(section, context, stored) }));
  const dynamic = texts.filter(({ section }) => section.kind === "dynamic");
  const sections = texts
    .filter(({ text }) => text.trim() !== "")
    .map(({ section, text }): AssembledSection => {
      const { name, kind } = section;
      return kind === "volatile" ? { name, kind, text, reason: section.reason } : { name, kind, text };
    })
    .sort((one, other) => ORDER[one.kind] - ORDER[other.kind]);
  return { sections, dynamic: Object.fromEntries(dynamic.map(({ section, text }) => [section.name, text])) };
}

const ORDER: Readonly<Record<PromptSection["kind"], number>> = { static: 0, dynamic: 1, volatile: 2 };

function fixed(bundle: PromptBundle, { replaceStatic }: AssembleOptions): readonly StaticSection[] {
  return replaceStatic === undefined ? bundle.staticSections() : [staticSection("system_prompt", replaceStatic)];
}

function textOf(section: PromptSection, context: PromptContext, stored: StoredDynamic): string {
  switch (section.kind) {
    case "static":
      return section.text;
    case "dynamic":
      // The record may come out of storage; a name such as `constructor` is not in it unless it was put there.
      return (Object.hasOwn(stored, section.name) ? stored[section.name] : undefined) ?? section.compute(context);
    case "volatile":
      return section.compute(context);
    default:
      return section satisfies never;
  }
}

/** The blocks of a model request: static text as one cached block, then dynamic, then volatile text, uncached. spec: R-8 */
export function toSystemBlocks(sections: readonly AssembledSection[]): ModelRequest["system"] {
  const joined = (kind: PromptSection["kind"]): string =>
    sections
      .filter((section) => section.kind === kind)
      .map(({ text }) => text)
      .join("\n\n");
  const blocks = [{ text: joined("static"), cache: true }, { text: joined("dynamic") }, { text: joined("volatile") }];
  return blocks.filter(({ text }) => text !== "");
}
