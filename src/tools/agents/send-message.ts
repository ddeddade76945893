import { z } from "zod";
import { ok } from "../../contract/result.ts";
import type { Tool } from "../../contract/tools.ts";
import { delegatingTool } from "./delegating.ts";

const Input = z.object({
  to: z.string().min(1).max(64).describe("A teammate's name, an agent's id, or lead"),
  text: z.string().min(1).max(100_000),
});
type Input = z.infer<typeof Input>;

/** Writes to another agent of the session. */
export function createSendMessageTool(): Tool<Input> {
  return delegatingTool({
    name: "SendMessage",
    description:
      "Writes a message to a teammate or to lead, the agent that started the team. One at work reads it with its next turn, " +
      "one that has ended begins again with it. There is no answer to this call; what they write back comes as a message.",
    searchHint: "message, teammate, inbox",
    passes: "hands a message to another agent",
    input: Input,
    resource: ({ to }) => to,
    delegate: async ({ to, text }) => ok({ kind: "message", to, text }),
  });
}
