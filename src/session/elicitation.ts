import type { ElicitationField, ElicitationValue } from "../contract/elicitation.ts";
import { err, ok, type Result } from "../contract/result.ts";

type Content = Readonly<Record<string, ElicitationValue>>;

/**
 * Checks what a person has filled in against what was asked for (D-3). The error names the field, never its value. What is
 * not asked for is refused.
 */
export function checkContent(fields: readonly ElicitationField[], content: Content): Result<Content, string> {
  const known = new Map(fields.map((field) => [field.name, field]));
  const stranger = Object.keys(content).find((name) => !known.has(name));
  if (stranger !== undefined) return err(`content.${shown(stranger)}: is not asked for`);
  for (const field of fields) {
    const value = Object.hasOwn(content, field.name) ? content[field.name] : undefined;
    const problem = value === undefined ? (field.required ? "is required" : undefined) : problemOf(field, value);
    if (problem !== undefined) return err(`content.${shown(field.name)}: ${problem}`);
  }
  return ok(content);
}

/** A server's own names may be anything. */
function shown(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, "?").slice(0, 64);
}

function problemOf(field: ElicitationField, value: ElicitationValue): string | undefined {
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "number":
    case "integer":
      return numberProblem(field, value);
    case "string":
      return typeof value === "string" ? textProblem(field, value) : "must be a string";
    case "array":
      return Array.isArray(value) ? listProblem(field, value) : "must be a list of strings";
    default:
      return field.type satisfies never;
  }
}

function numberProblem({ type, minimum, maximum }: ElicitationField, value: ElicitationValue): string | undefined {
  if (typeof value !== "number") return "must be a number";
  if (type === "integer" && !Number.isInteger(value)) return "must be an integer";
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  return maximum !== undefined && value > maximum ? `must be at most ${maximum}` : undefined;
}

function textProblem(field: ElicitationField, value: string): string | undefined {
  const { min_length: min, max_length: max, options, format } = field;
  const length = [...value].length;
  if (options && !options.some((option) => option.value === value)) return "must be one of the options";
  if (min !== undefined && length < min) return `must have at least ${min} characters`;
  if (max !== undefined && length > max) return `must have at most ${max} characters`;
  return format !== undefined && !FORMATS[format](value) ? `must be a ${format}` : undefined;
}

function listProblem({ minimum, maximum, options = [] }: ElicitationField, list: string[]): string | undefined {
  if (!list.every((item) => options.some((option) => option.value === item))) return "must hold options only";
  if (minimum !== undefined && list.length < minimum) return `must have at least ${minimum} items`;
  return maximum !== undefined && list.length > maximum ? `must have at most ${maximum} items` : undefined;
}

const FORMATS: Readonly<Record<NonNullable<ElicitationField["format"]>, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)),
};
