import type { ArithmeticExpression, ParameterExpansionPart, SyntaxNode, TestExpression } from "unbash";
import type { Scope } from "./model.ts";
import { isOwnVariable } from "./special.ts";
import { isKnownVariable, isNumericVariable } from "./variables.ts";
import { expandWord, literalText } from "./words.ts";

const NUMBER = /^(0[xX][0-9a-fA-F]+|\d+|\d+#\w+)$/;
const ASSIGNING = /^([+\-*/%&|^]|<<|>>)?=$/;

/** Says what one node of the tree evaluates later than it is read; looks at the node alone, not below it. */
export function expansionProblem(node: SyntaxNode, scope: Scope): string | undefined {
  switch (node.type) {
    case "ExtendedGlob":
      return "an extended pattern, which shells read differently";
    case "SimpleExpansion":
      return variableProblem(node.text.slice(1), scope);
    case "ParameterExpansion":
      return parameterProblem(node, scope);
    case "ArithmeticExpansion":
    case "ArithmeticCommand":
      return node.expression === undefined
        ? "arithmetic that was not understood"
        : arithmeticProblem(node.expression, scope);
    case "ArithmeticFor":
      return [node.initialize, node.test, node.update]
        .map((part) => (part === undefined ? undefined : arithmeticProblem(part, scope)))
        .find((problem) => problem !== undefined);
    case "TestUnary":
    case "TestBinary":
      return testProblem(node, scope);
    case "CommandExpansion":
    case "ProcessSubstitution":
    case "ArithmeticCommandExpansion":
      return node.script === undefined ? "a substitution that was not understood" : undefined;
    case "HereDoc":
      return node.closing === undefined ? "an unfinished here-document" : undefined;
    case "FileDescriptorVariable":
      return "a redirection that sets a variable";
    case "For":
    case "Select":
      return isOwnVariable(node.name.value) ? undefined : "a loop over a variable that means something";
    default:
      return undefined;
  }
}

function variableProblem(name: string, scope: Scope): string | undefined {
  return isKnownVariable(name, scope.variables)
    ? undefined
    : `the value of $${name} is unknown and may be a credential`;
}

function parameterProblem(node: ParameterExpansionPart, scope: Scope): string | undefined {
  const { operation, index } = node;
  if (node.prefix === "!") return "an expansion that names its variable at run time";
  if (index !== undefined && !/^(\d+|[@*])$/.test(index.text)) return "a subscript that is evaluated";
  if (operation?.type === "Transform" || operation?.type === "Unknown" || operation?.type === "Names") {
    return "an expansion that evaluates a value";
  }
  if (operation?.type === "Default" && operation.operator.includes("=")) return "an expansion that sets a variable";
  if (operation?.type === "Slice") {
    const numbers = [operation.offset, operation.length].every(
      (word) => word === undefined || /^ ?-?\d+$/.test(word.text),
    );
    if (!numbers) return "a slice that is evaluated";
  }
  return node.prefix === "#" ? undefined : variableProblem(node.parameter, scope);
}

/** Arithmetic evaluates variables again and again, so only numbers and variables that hold numbers pass. */
function arithmeticProblem(node: ArithmeticExpression, scope: Scope): string | undefined {
  switch (node.type) {
    case "ArithmeticBinary":
      if (ASSIGNING.test(node.operator) && !isOwnTarget(node.left)) return "arithmetic that sets a variable";
      return arithmeticProblem(node.left, scope) ?? arithmeticProblem(node.right, scope);
    case "ArithmeticUnary":
      if (/^(\+\+|--)$/.test(node.operator) && !isOwnTarget(node.operand)) return "arithmetic that sets a variable";
      return arithmeticProblem(node.operand, scope);
    case "ArithmeticTernary":
      return [node.test, node.consequent, node.alternate].map((part) => arithmeticProblem(part, scope)).find(Boolean);
    case "ArithmeticGroup":
      return arithmeticProblem(node.expression, scope);
    case "ArithmeticWord": {
      const value = node.value.trim();
      const name = /^\$\{?(\w+|[#?])\}?$/.exec(value)?.[1] ?? value;
      if (NUMBER.test(value) || name === "#" || name === "?") return undefined;
      return isNumericVariable(name, scope.variables) ? undefined : "arithmetic on a value that is evaluated";
    }
    default:
      return "arithmetic on a value that is evaluated";
  }
}

function isOwnTarget(node: ArithmeticExpression): boolean {
  return node.type === "ArithmeticWord" && isOwnVariable(node.value);
}

function testProblem(
  node: Extract<TestExpression, { type: "TestUnary" | "TestBinary" }>,
  scope: Scope,
): string | undefined {
  if (node.type === "TestUnary") {
    if (!/^-[vR]$/.test(node.operator)) return undefined;
    const [operand, ...more] = expandWord(node.operand, scope);
    return more.length === 0 && /^\w+$/.test(literalText(operand) ?? "") ? undefined : "[[ -v evaluates its operand";
  }
  if (!/^-(eq|ne|lt|le|gt|ge)$/.test(node.operator)) return undefined;
  const numbers = [node.left, node.right].flatMap((word) => expandWord(word, scope));
  const plain = numbers.every((arg) => arg.kind !== "dynamic" && arg.texts.every((text) => /^-?\d+$/.test(text)));
  return plain ? undefined : "a comparison that evaluates its operands";
}
