import type { Sandbox } from "../../contract/sandbox.ts";
import { Skill } from "../../contract/skills.ts";

/** Where a workspace keeps its skills: `NAME.md`, with an optional head of `description:` and `tools:` between `---` lines. */
const FOLDER = ".flyto/skills";
const MAX_SKILLS = 64;
const MAX_BYTES = 100_000;

/** The skills of a workspace; a file that is no skill is left out. */
export async function workspaceSkills({ files, root }: Pick<Sandbox, "files" | "root">): Promise<Skill[]> {
  const listed = await files.list(`${root}/${FOLDER}`);
  if (!listed.ok) return [];
  const found: Skill[] = [];
  for (const { path, kind, size } of listed.value) {
    const name = /([^/]+)\.md$/.exec(path)?.[1];
    if (name === undefined || kind !== "file" || size > MAX_BYTES || found.length >= MAX_SKILLS) continue;
    const read = await files.readFile(path);
    const skill = read.ok ? parseSkill(name, new TextDecoder().decode(read.value)) : undefined;
    if (skill) found.push(skill);
  }
  return found;
}

/** Reads one skill's file; undefined when it is none. */
export function parseSkill(name: string, text: string): Skill | undefined {
  const head = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(text);
  const field = (key: string): string | undefined => new RegExp(`^${key}:[ \\t]*(.*)$`, "m").exec(head?.[1] ?? "")?.[1];
  const tools = field("tools");
  const parsed = Skill.safeParse({
    name,
    description: (field("description") ?? "").trim(),
    prompt: text.slice(head?.[0].length ?? 0).trim(),
    ...(tools === undefined
      ? {}
      : {
          tools: tools
            .split(",")
            .map((tool) => tool.trim())
            .filter(Boolean),
        }),
  });
  return parsed.success ? parsed.data : undefined;
}
