import { z } from "zod";
import { ok } from "../../contract/result.ts";
import type { Skill } from "../../contract/skills.ts";
import type { Tool } from "../../contract/tools.ts";
import { delegatingTool } from "./delegating.ts";
import { workspaceSkills } from "./skills.ts";

const Input = z.object({
  skill: z.string().min(1).max(64).describe("The skill's name"),
  args: z.string().max(50_000).optional().describe("What it is to work on"),
});
type Input = z.infer<typeof Input>;

/** Runs a named prompt, of the deployment or of the workspace, in a sub-agent (K-1). */
export function createSkillTool(skills: readonly Skill[]): Tool<Input> {
  return delegatingTool({
    name: "Skill",
    description:
      "Runs a skill: a prepared way to do one kind of task, in an agent of its own, and returns what it ends with. The " +
      "skills there are stand in the system prompt; more may lie in .flyto/skills of the workspace.",
    searchHint: "skill, prepared prompt, recipe",
    input: Input,
    resource: ({ skill }) => skill,
    async delegate({ skill: name, args }, { sandbox }) {
      const found = skills.find((skill) => skill.name === name);
      const known = found ? [] : await workspaceSkills(sandbox);
      const skill = found ?? known.find((each) => each.name === name);
      if (!skill) {
        const names = [...skills, ...known].map((each) => each.name).join(", ");
        return { ok: false, error: `there is no skill ${JSON.stringify(name)}; there are: ${names || "none"}` };
      }
      const prompt = args === undefined ? skill.prompt : `${skill.prompt}\n\n<arguments>\n${args}\n</arguments>`;
      const spec = { description: `skill ${name}`, prompt, background: false, tools: skill.tools };
      return ok({ kind: "spawn", agents: [spec] });
    },
  });
}
