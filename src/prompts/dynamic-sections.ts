import type { DynamicSection, NamedText, PromptContext } from "../contract/prompts.ts";
import { dynamicSection } from "./bundle.ts";
import type { Wording } from "./wording.ts";

/** Names and descriptions come from servers and files of others; a list of them stays a list. */
const DESCRIPTION_CHARS = 300;
const VALUE_CHARS = 1_000;

/** The dynamic sections of the built-in bundles, in prompt order; what has nothing to say is empty. spec: B-6 */
export function createDynamicSections(words: Wording): readonly DynamicSection[] {
  return [
    dynamicSection("env_info", (context) => environment(context, words)),
    dynamicSection("language", ({ language }) => {
      const name = oneLine(language ?? "", VALUE_CHARS);
      return name === "" ? "" : words.language(name);
    }),
    dynamicSection("tools", ({ toolDescriptions }) => {
      const brief = toolDescriptions.map(({ name, description }) => ({
        name,
        description: firstSentence(description),
      }));
      return listed(words.tools, brief, words);
    }),
    dynamicSection("skills", ({ skills }) => listed(words.skills, skills, words)),
    dynamicSection("memory", ({ memory }) => {
      const notes = memory?.trim() ?? "";
      return notes === "" ? "" : `${words.memory}\n\n${fenced("memory", notes)}`;
    }),
    dynamicSection("append_prompt", ({ appendPrompt }) => {
      const text = appendPrompt?.trim() ?? "";
      return text === "" ? "" : `${words.appended}\n\n${text}`;
    }),
    dynamicSection("evolve", ({ evolveFragment }) => evolveFragment?.trim() ?? ""),
  ];
}

function environment(context: PromptContext, words: Wording): string {
  const { git } = context;
  // A backend is any name a deployment uses, also one that every object has.
  const note = Object.hasOwn(words.backendNotes, context.backend) ? words.backendNotes[context.backend] : undefined;
  const facts: readonly (readonly [string, string | undefined])[] = [
    [words.root, context.root],
    [words.cwd, context.cwd],
    [words.backend, note === undefined ? context.backend : `${context.backend} (${note})`],
    [words.git, git && repository(git, words)],
    [words.model, `${context.model} (${context.provider})`],
    [words.date, context.date],
  ];
  const lines = facts.flatMap(([label, value]) =>
    value === undefined ? [] : [`- ${label}${words.colon}${oneLine(value, VALUE_CHARS)}`],
  );
  return `${words.environment}\n\n${lines.join("\n")}\n\n${words.staleness}`;
}

function repository(git: NonNullable<PromptContext["git"]>, words: Wording): string {
  const branch = git.branch === undefined ? words.detached : `${words.branch} ${git.branch}`;
  return `${git.root} (${branch}; ${git.dirty ? words.dirty : words.clean})`;
}

function listed(heading: string, items: readonly NamedText[], words: Wording): string {
  if (items.length === 0) return "";
  const lines = items.map(({ name, description }) => {
    const text = oneLine(description, DESCRIPTION_CHARS);
    return `- ${oneLine(name, VALUE_CHARS)}${text === "" ? "" : `${words.colon}${text}`}`;
  });
  return `${heading}\n\n${lines.join("\n")}`;
}

/** The whole description goes with the tool itself; here it would only be said twice. */
function firstSentence(text: string): string {
  return /^.*?(?:[.!?](?=\s+\p{Lu}|\s*$)|[。！？])/su.exec(text.trim())?.[0] ?? text;
}

/** A value cannot start a line of its own and so pass for a heading or an instruction. */
function oneLine(text: string, max: number): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Marks where others' text begins and ends; the text cannot end it itself. */
function fenced(tag: string, text: string): string {
  return `<${tag}>\n${text.replace(new RegExp(`</(?=\\s*${tag})`, "gi"), "<\\/")}\n</${tag}>`;
}
