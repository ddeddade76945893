import type { Skill } from "../contract/skills.ts";
import type { Tool } from "../contract/tools.ts";
import { createAgentTool } from "./agents/agent.ts";
import { createDreamTool } from "./agents/dream.ts";
import { createSendMessageTool } from "./agents/send-message.ts";
import { createSkillTool } from "./agents/skill.ts";
import { createTeamTool } from "./agents/team.ts";
import { createBashTool } from "./bash.ts";
import { createEditTool } from "./edit.ts";
import { createExitPlanModeTool } from "./exit-plan-mode.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createReadTool } from "./read.ts";
import { createTodoWriteTool } from "./todo-write.ts";
import { createWebFetchTool } from "./web-fetch.ts";
import { createWriteTool } from "./write.ts";

export { toModelTool, toolDefinition } from "./definition.ts";
export { createToolSet } from "./tool-set.ts";

export type BuiltinToolOptions = {
  /** How long a shell command may take when the model does not say, milliseconds (X-1: 120,000). */
  readonly defaultTimeoutMs: number;
  /** The most that it may ask for, milliseconds (X-1: 600,000). */
  readonly maxTimeoutMs: number;
  /** Named prompts of the deployment. */
  readonly skills?: readonly Skill[] | undefined;
};

/** The tools every session has (K-1). */
export function createBuiltinTools(options: BuiltinToolOptions): Tool[] {
  return [
    createBashTool(options),
    createReadTool(),
    createWriteTool(),
    createEditTool(),
    createGlobTool(),
    createGrepTool(),
    createTodoWriteTool(),
    createWebFetchTool(),
    createAgentTool(),
    createSkillTool(options.skills ?? []),
    createTeamTool(),
    createSendMessageTool(),
    createDreamTool(),
    createExitPlanModeTool(),
  ];
}
