import type { CommandNode, PipelineNode, ScriptNode, SimpleCommandNode, StatementNode, WordNode } from "just-bash";
import { STREAM_PATHS } from "./output-stream.ts";

/**
 * Makes a script give its output as it goes. The interpreter hands over output when the whole script has ended, but a
 * redirection is written when its command ends: so each top-level statement is wrapped in `{ …; } >>OUT 2>>ERR`, and so
 * is each statement in the body of a top-level loop that waits. Simple commands get `>>OUT` of their own too: only there
 * the interpreter still knows bytes from text. The wrapping is seen by nothing but errors that leave a statement
 * half-way, so it ends before the first statement that could raise one; the rest of the script runs as it is and its
 * output comes at the end, still in order.
 */
export function streamed(script: ScriptNode): ScriptNode {
  // A syntax error deferred to its line must come out as the interpreter words it.
  if (script.statements.some((each) => each.deferredError !== undefined)) return script;
  const unsafe = script.statements.findIndex((each) => !isSafe(each));
  const safe = unsafe < 0 ? script.statements.length : unsafe;
  const statements = script.statements.map((each, i) => (i < safe ? wrap(waitsInside(each)) : each));
  return { ...script, statements };
}

/** Nodes that raise no error but those a wrapper lets through; what is not named here is not wrapped. */
const SAFE_NODES: ReadonlySet<string> = new Set([
  ...["Statement", "Pipeline", "SimpleCommand", "If", "For", "While", "Until", "Case", "CaseItem", "Subshell", "Group"],
  ...["FunctionDef", "ConditionalCommand", "CondBinary", "CondUnary", "CondNot", "CondAnd", "CondOr", "CondGroup"],
  ...["CondWord", "Word", "Literal", "SingleQuoted", "DoubleQuoted", "Escaped", "Glob", "TildeExpansion", "Script"],
  ...["CommandSubstitution", "Redirection", "HereDoc", "Assignment", "DefaultValue", "Length", "UseAlternative"],
]);
/** Commands that change what runs after them in ways a wrapper may be seen by, or that run text nobody has looked at. */
const UNSAFE_COMMANDS: ReadonlySet<string> = new Set([
  ...["exec", "eval", "source", ".", "let", "shopt", "alias", "unalias", "trap", "builtin", "command", "enable"],
  ...["declare", "typeset", "local", "readonly", "return"],
]);
/** `set -u` makes every variable one that may raise an error. */
const SAFE_SET_ARGUMENTS = /^([-+][efxo]{1,3}|pipefail|errexit|noglob|xtrace)$/;

function isSafe(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(isSafe);
  if (typeof node !== "object" || node === null) return true;
  if ("type" in node && typeof node.type === "string") {
    if (!SAFE_NODES.has(node.type)) {
      // Subscripts are arithmetic; other names and the special ones are plain look-ups.
      const plain = node.type === "ParameterExpansion" && "parameter" in node && !/\[/.test(String(node.parameter));
      if (!plain) return false;
    }
    if (node.type === "SimpleCommand" && !isSafeCommand(node as SimpleCommandNode)) return false;
  }
  return Object.entries(node).every(([key, value]) => {
    // Array assignments and subscripts are arithmetic too.
    if ((key === "array" || key === "subscript") && value !== null && value !== undefined) return false;
    return isSafe(value);
  });
}

function isSafeCommand(command: SimpleCommandNode): boolean {
  if (command.assignments.some((each) => /\[/.test(each.name))) return false;
  if (command.name === null) return true;
  const name = textOf(command.name);
  if (name === undefined || UNSAFE_COMMANDS.has(name)) return false;
  return name !== "set" || command.args.every((each) => SAFE_SET_ARGUMENTS.test(textOf(each) ?? ""));
}

/** A word that is plain text; undefined for one that is made when it is used. */
function textOf(word: WordNode): string | undefined {
  const [part, ...more] = word.parts;
  return part?.type === "Literal" && more.length === 0 ? part.value : undefined;
}

/** Commands that let time pass, so that it is worth to see what a loop has given so far. */
const WAITS: ReadonlySet<string> = new Set(["sleep", "curl", "git"]);

/** A loop that waits, with the statements of its body wrapped too; other statements as they are. */
function waitsInside(statement: StatementNode): StatementNode {
  const [pipeline, ...others] = statement.pipelines;
  const [loop, ...piped] = pipeline?.commands ?? [];
  if (!pipeline || others.length > 0 || piped.length > 0 || !loop) return statement;
  if (loop.type !== "For" && loop.type !== "While" && loop.type !== "Until") return statement;
  if (loop.redirections.length > 0 || !hasWait(loop)) return statement;
  // What the condition prints must come before what the body prints.
  const condition = loop.type === "For" ? {} : { condition: loop.condition.map((each) => wrap(each)) };
  const body = loop.body.map((each) => wrap(waitsInside(each)));
  return { ...statement, pipelines: [{ ...pipeline, commands: [{ ...loop, ...condition, body }] }] };
}

function hasWait(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(hasWait);
  if (typeof node !== "object" || node === null) return false;
  if ("type" in node && node.type === "SimpleCommand") {
    // Cast: the node's own tag says what it is.
    const { name } = node as SimpleCommandNode;
    if (name && WAITS.has(textOf(name) ?? "")) return true;
  }
  return Object.values(node).some(hasWait);
}

function wrap(statement: StatementNode): StatementNode {
  const group: CommandNode = { type: "Group", body: [direct(statement)], redirections: [append(1), append(2)] };
  const pipeline: PipelineNode = { type: "Pipeline", negated: false, commands: [group] };
  return { type: "Statement", pipelines: [pipeline], operators: [], background: false };
}

/** The statement with its simple commands writing straight to the output, where they would write to it in the end. */
function direct(statement: StatementNode): StatementNode {
  const pipelines = statement.pipelines.map((pipeline): PipelineNode => {
    const last = pipeline.commands.length - 1;
    return { ...pipeline, commands: pipeline.commands.map((each, i) => (i === last ? directCommand(each) : each)) };
  });
  return { ...statement, pipelines };
}

function directCommand(command: CommandNode): CommandNode {
  if (command.type === "FunctionDef" || (command.type === "SimpleCommand" && command.name === null)) return command;
  const inside = command.redirections.every((each) => READS.has(each.operator));
  if (!inside) return { ...command, redirections: [append(1), ...command.redirections] };
  switch (command.type) {
    case "Group":
    case "Subshell":
    case "For":
      return { ...command, body: command.body.map(direct) };
    case "While":
    case "Until":
      return { ...command, condition: command.condition.map(direct), body: command.body.map(direct) };
    case "If": {
      const clauses = command.clauses.map((each) => ({
        condition: each.condition.map(direct),
        body: each.body.map(direct),
      }));
      return { ...command, clauses, elseBody: command.elseBody?.map(direct) ?? null };
    }
    default:
      return { ...command, redirections: [append(1), ...command.redirections] };
  }
}

/** Redirections of input: what a compound command gives still goes where it went. */
const READS: ReadonlySet<string> = new Set(["<", "<<", "<<-", "<<<"]);

function append(fd: 1 | 2): SimpleCommandNode["redirections"][number] {
  const target = word(fd === 1 ? STREAM_PATHS.stdout : STREAM_PATHS.stderr);
  return { type: "Redirection", fd, operator: ">>", target };
}

function word(value: string): WordNode {
  return { type: "Word", parts: [{ type: "Literal", value }] };
}
