import { z } from "zod";
import { ok } from "../../contract/result.ts";
import type { Tool } from "../../contract/tools.ts";
import { delegatingTool } from "./delegating.ts";

const Input = z.object({
  description: z.string().min(1).max(200).describe("The task in three to ten words"),
  prompt: z.string().min(1).max(100_000).describe("The whole task; the agent sees nothing else of this conversation"),
  tools: z.array(z.string()).max(64).optional().describe("Names of the tools it may call; all when left out"),
  model: z.string().min(1).max(256).optional().describe("Another model of the same provider"),
  max_turns: z.number().int().min(1).optional(),
  max_cost_usd: z.number().positive().optional(),
  run_in_background: z.boolean().optional().describe("Go on meanwhile; its result comes as a message"),
});
type Input = z.infer<typeof Input>;

/** Gives a piece of work to a sub-agent (K-3). */
export function createAgentTool(): Tool<Input> {
  return delegatingTool({
    name: "Agent",
    description:
      "Gives a task of its own to a sub-agent and returns what it ends with. Use it for work that needs many steps or much " +
      "reading of which only the result matters, and for independent parts side by side: several calls in one answer run " +
      "at the same time. Tell it everything it needs, what to give back and in which form. It works in the same files.",
    searchHint: "sub-agent, delegate, parallel work, explore",
    input: Input,
    resource: ({ description }) => description,
    delegate: async (input) =>
      ok({
        kind: "spawn",
        agents: [
          {
            description: input.description,
            prompt: input.prompt,
            background: input.run_in_background ?? false,
            tools: input.tools,
            model: input.model,
            maxTurns: input.max_turns,
            maxCostUsd: input.max_cost_usd,
          },
        ],
      }),
  });
}
