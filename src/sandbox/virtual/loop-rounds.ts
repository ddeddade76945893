import type { CommandNode, ScriptNode, SimpleCommandNode, StatementNode } from "just-bash";

/** A file that is not there: each round of a loop opens it, see `withRounds`. */
export const ROUND_PATH = "/dev/.round";

/**
 * Makes each round of a loop open a file, so that somebody hears of it: the first command of its body gets a redirection
 * to a descriptor nobody uses. What the command does, says and returns stays the same.
 */
export function withRounds(script: ScriptNode): ScriptNode {
  return mapped(script);
}

const ROUND: SimpleCommandNode["redirections"][number] = {
  type: "Redirection",
  fd: 9,
  operator: "<",
  target: { type: "Word", parts: [{ type: "Literal", value: ROUND_PATH }] },
};
const LOOPS: ReadonlySet<string> = new Set(["For", "CStyleFor", "While", "Until"]);

function mapped<T>(node: T): T {
  // Casts: a copy of a node with the same fields is of its type.
  if (Array.isArray(node)) return node.map(mapped) as T;
  if (typeof node !== "object" || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, mapped(value)])) as T;
  if (!isLoop(copy)) return copy;
  const [first, ...rest] = copy.body;
  return first ? { ...copy, body: [marked(first), ...rest] } : copy;
}

function isLoop(node: unknown): node is { readonly body: readonly StatementNode[] } {
  return typeof node === "object" && node !== null && "type" in node && LOOPS.has(String(node.type)) && "body" in node;
}

function marked(statement: StatementNode): StatementNode {
  const [pipeline, ...others] = statement.pipelines;
  const [command, ...piped] = pipeline?.commands ?? [];
  if (!pipeline || !command) return statement;
  const commands = [withRedirection(command), ...piped];
  return { ...statement, pipelines: [{ ...pipeline, commands }, ...others] };
}

function withRedirection(command: CommandNode): CommandNode {
  return { ...command, redirections: [...command.redirections, ROUND] };
}
