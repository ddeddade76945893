import type { PromptContext, PromptPort } from "../contract/prompts.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import { assemblePrompt, cacheBreak, cachePrefix, DEFAULT_KEY, toSystemBlocks } from "../prompts/index.ts";
import { workspaceSkills } from "../tools/agents/skills.ts";
import type { Deployment } from "./deployment.ts";
import { repositoryOf } from "./git.ts";

/** Makes the prompts of runs in one workspace from the deployment's bundles (B-1, B-2). */
export function composePrompt(deployment: Deployment, sandbox: Sandbox): PromptPort {
  const { bundles, config, tools, promptMeasure } = deployment;
  return {
    async compose(run, facts, stored) {
      const { bundle, key } = bundles.resolve(run.bundle ?? DEFAULT_KEY);
      const own = run.system_prompt ?? config.SYSTEM_PROMPT;
      // What stands in the dynamic sections holds for one bundle and one model.
      const tie = `${key.model_family}/${key.scenario} ${run.provider} ${run.model}`;
      const kept = stored.get(tie);
      const context: PromptContext = {
        ...{ cwd: facts.cwd, root: sandbox.root, backend: sandbox.backend, model: run.model, provider: run.provider },
        toolDescriptions: tools.list().map(({ name, description }) => ({ name, description })),
        // Looked up once a session: what follows is only read when nothing is kept yet.
        skills: kept ? [] : [...deployment.skills, ...(await workspaceSkills(sandbox))],
        git: kept ? undefined : await repositoryOf(sandbox, facts.cwd),
        memory: undefined,
        appendPrompt: config.APPEND_PROMPT,
        evolveFragment: undefined,
        language: config.PROMPT_LANGUAGE,
      };
      const prompt = assemblePrompt(bundle, context, kept, { replaceStatic: own });
      const prefix = cachePrefix(prompt.sections, promptMeasure.toolsDigest, promptMeasure);
      return {
        system: toSystemBlocks(prompt.sections),
        stored: { tie, texts: prompt.dynamic },
        prefix,
        tokens: prefix.sections.reduce((sum, { tokens }) => sum + (tokens ?? 0), promptMeasure.toolsTokens),
      };
    },
    compare: cacheBreak,
  };
}
