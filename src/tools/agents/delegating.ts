import type { z } from "zod";
import type { Delegation } from "../../contract/agents.ts";
import type { Result } from "../../contract/result.ts";
import type { DelegateContext, Tool } from "../../contract/tools.ts";
import { failure } from "../outcome.ts";

/**
 * A tool whose calls are for other agents. Starting one changes nothing by itself: what it does is judged call by call,
 * so the call passes like a read.
 */
export function delegatingTool<I>(options: {
  readonly name: string;
  readonly description: string;
  readonly searchHint: string;
  /** Why the call passes; absent: it starts a sub-agent. */
  readonly passes?: string;
  readonly input: z.ZodType<I>;
  resource(input: I): string;
  delegate(input: I, context: DelegateContext): Promise<Result<Delegation, string>>;
}): Tool<I> {
  const { name, description, searchHint, input } = options;
  return {
    name,
    description,
    input,
    metadata: {
      readOnly: true,
      concurrencySafe: true,
      destructive: false,
      searchHint,
      permissionClass: "readonly",
      passes: options.passes ?? "starts a sub-agent, whose own calls are judged one by one",
      requiresCheckpoint: false,
      auditOperation: "invoke",
      recovery: "unknown",
    },
    resource: options.resource,
    run: async () => failure(`${name} needs a host that can run agents`),
    delegate: options.delegate,
  };
}
