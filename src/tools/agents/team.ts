import { z } from "zod";
import { ok } from "../../contract/result.ts";
import type { Tool } from "../../contract/tools.ts";
import { delegatingTool } from "./delegating.ts";

const Member = z.object({
  name: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "a name is 1 to 32 of a-z 0-9 _ -, and begins with a letter"),
  task: z
    .string()
    .min(1)
    .max(100_000)
    .describe("Who it is and what it is to do; it sees nothing else of this conversation"),
  tools: z.array(z.string()).max(64).optional().describe("Names of the tools it may call; all when left out"),
});
const Input = z.object({ members: z.array(Member).min(1).max(16) });
type Input = z.infer<typeof Input>;

/** Starts named agents that work side by side and write to each other. */
export function createTeamTool(): Tool<Input> {
  return delegatingTool({
    name: "Team",
    description:
      "Starts teammates: named agents that work in the background and can write to each other and to you (SendMessage; your " +
      "name is lead). What one ends with reaches you as a message; a message to one that has ended wakes it again with " +
      "everything it knows. Use it when parts of the work must talk to each other; for independent tasks use Agent.",
    searchHint: "team, teammates, collaborate",
    passes: "starts sub-agents, whose own calls are judged one by one",
    input: Input,
    resource: ({ members }) => members.map(({ name }) => name).join(", "),
    async delegate({ members }) {
      const names = members.map(({ name }) => name);
      const [first, ...rest] = members.map((member) => ({
        description: member.name,
        prompt: `You are ${member.name}, one of a team: ${names.join(", ")}, and lead, who started you. Write to them with SendMessage.\n\n${member.task}`,
        background: true,
        name: member.name,
        tools: member.tools && [...new Set([...member.tools, "SendMessage"])],
      }));
      if (!first) return { ok: false, error: "a team needs members" };
      return ok({ kind: "spawn", agents: [first, ...rest] });
    },
  });
}
