import { z } from "zod";
import { TodoItem } from "../contract/facts.ts";
import type { Tool } from "../contract/tools.ts";
import { text } from "./outcome.ts";

const Input = z.object({
  todos: z.array(TodoItem).max(200).describe("The whole list, in order; it replaces the one before"),
});
type Input = z.infer<typeof Input>;

/** Keeps the plan of the session; the list lives in the session's facts. */
export function createTodoWriteTool(): Tool<Input> {
  return {
    name: "TodoWrite",
    description:
      "Keeps the task list of this session. Send the whole list each time; it replaces the one before. Use it for work " +
      "of three or more steps: write the steps first, keep exactly one in_progress, and mark a step completed as soon " +
      "as it is done. Not needed for a single simple step.",
    input: Input,
    metadata: {
      readOnly: true,
      // The last list wins, so two at once would race.
      concurrencySafe: false,
      destructive: false,
      searchHint: "task list, plan, todo, progress",
      permissionClass: "readonly",
      passes: "notes the agent's own tasks",
      requiresCheckpoint: false,
      auditOperation: "invoke",
      recovery: "rerun",
    },
    resource: (input) => `${input.todos.length} todos`,
    async run(input) {
      const count = (status: TodoItem["status"]): number => input.todos.filter((todo) => todo.status === status).length;
      const summary = `${count("completed")} completed, ${count("in_progress")} in progress, ${count("pending")} pending`;
      return text(`The task list is updated: ${summary}.`, [{ kind: "todos", items: input.todos }]);
    },
  };
}
