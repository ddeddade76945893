import { forEachChild, type SyntaxNode } from "unbash";
import type { BashContext, Scope, VariableValue } from "./model.ts";
import { expandWord } from "./words.ts";

/** Variables of the environment that hold nothing secret and may be printed. */
const PUBLIC_VARIABLES =
  /^(HOME|PWD|OLDPWD|USER|LOGNAME|SHELL|PATH|LANG|LC_\w+|TERM|HOSTNAME|UID|EUID|PPID|RANDOM|SECONDS|LINENO|BASHPID|BASH_VERSION|OSTYPE|HOSTTYPE|MACHTYPE|TZ|COLUMNS|LINES|SHLVL|EPOCHSECONDS|EPOCHREALTIME|TMPDIR|NO_COLOR|CI|PIPESTATUS|FUNCNAME)$/;

/** True for a variable of the environment that holds nothing secret. */
export const isPublicVariable = (name: string): boolean => PUBLIC_VARIABLES.test(name);

/** True for an assignment before a command that changes how its output looks and nothing it runs. */
export function isSafeAssignment(name: string, value: string): boolean {
  if (/^(GIT_PAGER|PAGER|MANPAGER)$/.test(name)) return value === "cat";
  if (/^(GIT_OPTIONAL_LOCKS|GIT_TERMINAL_PROMPT|FORCE_COLOR|CLICOLOR|COLUMNS)$/.test(name)) return /^\d*$/.test(value);
  return /^(LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR)$/.test(name) && /^[\w./:+-]*$/.test(value);
}

const SPECIAL_PARAMETER = /^([0-9]+|[@*#?$!_-])$/;

/** True when expanding the variable cannot show a credential of the environment. */
export function isKnownVariable(name: string, variables: ReadonlyMap<string, VariableValue>): boolean {
  return SPECIAL_PARAMETER.test(name) || PUBLIC_VARIABLES.test(name) || variables.has(name);
}

const DYNAMIC: VariableValue = { kind: "dynamic", texts: [""] };

/**
 * What each variable can hold over all assignments of the text, whatever their order: a loop may run an assignment before
 * a use that stands above it.
 */
export function collectVariables(root: SyntaxNode, context: BashContext, limit: number): Map<string, VariableValue> {
  const found = new Map<string, VariableValue>();
  const scope: Scope = { context, cwds: [context.cwd], variables: new Map(), reads: new Set() };
  const put = (name: string, value: VariableValue) => {
    const before = found.get(name);
    if (before === undefined) found.set(name, value);
    else if (before.kind === "dynamic" || value.kind === "dynamic") found.set(name, DYNAMIC);
    else {
      const texts = [...new Set([...before.texts, ...value.texts])];
      found.set(name, texts.length > 32 ? DYNAMIC : { kind: texts.length > 1 ? "pattern" : before.kind, texts });
    }
  };
  const queue: SyntaxNode[] = [root];
  for (let count = 0; count < queue.length && count < limit; count += 1) {
    const node = queue[count];
    if (node === undefined) break;
    if (node.type === "Assignment") {
      const single =
        node.value.type === "Word" && node.append !== true && node.index === undefined
          ? expandWord(node.value, scope)
          : [];
      const [value] = single;
      put(node.name, value !== undefined && single.length === 1 ? value : DYNAMIC);
    } else if (node.type === "For") {
      const words = node.wordlist?.flatMap((word) => expandWord(word, scope));
      if (words === undefined) put(node.name.value, DYNAMIC);
      for (const word of words ?? []) put(node.name.value, word);
    } else if (node.type === "Select") put(node.name.value, DYNAMIC);
    else if (node.type === "ArithmeticBinary" && node.operator.endsWith("=") && node.left.type === "ArithmeticWord") {
      if (!/^(==|!=|<=|>=)$/.test(node.operator)) put(node.left.value, { kind: "literal", texts: ["1"] });
    } else if (node.type === "Command" && node.name?.value === "read") {
      for (const word of node.args) if (word.type === "Word" && /^\w+$/.test(word.value)) put(word.value, DYNAMIC);
    } else if (
      node.type === "ParameterExpansion" &&
      node.operation?.type === "Default" &&
      /=/.test(node.operation.operator)
    ) {
      put(node.parameter, DYNAMIC);
    }
    forEachChild(node, (child) => {
      queue.push(child);
    });
  }
  return found;
}

/** True when arithmetic on the variable can evaluate nothing but a number. */
export function isNumericVariable(name: string, variables: ReadonlyMap<string, VariableValue>): boolean {
  const value = variables.get(name);
  return value !== undefined && value.kind !== "dynamic" && value.texts.every((text) => /^-?\d+$/.test(text));
}
