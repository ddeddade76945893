import { z } from "zod";
import type { Tool } from "../contract/tools.ts";
import { text } from "./outcome.ts";

const Input = z.object({
  plan: z.string().min(1).max(100_000).describe("The plan as the user is to read it, in Markdown"),
});
type Input = z.infer<typeof Input>;

/** Shows the user the plan; from their approval on, the run may write (D-2). */
export function createExitPlanModeTool(): Tool<Input> {
  return {
    name: "ExitPlanMode",
    description:
      "Shows the user your plan and asks for their approval. Use it in plan mode, when you know what is to be done and have " +
      "written it down: each step, the files it touches, how you will check it. Nothing is changed before they agree; they " +
      "may change the plan, and then theirs is the one to follow.",
    input: Input,
    metadata: {
      readOnly: true,
      concurrencySafe: false,
      destructive: false,
      searchHint: "plan, approval, leave plan mode",
      permissionClass: "readonly",
      requiresCheckpoint: false,
      planApproval: true,
      auditOperation: "invoke",
      recovery: "rerun",
    },
    resource: ({ plan }) => plan.slice(0, 200),
    run: async ({ plan }) => text(`The user approved the plan. Carry it out now:\n${plan}`),
  };
}
