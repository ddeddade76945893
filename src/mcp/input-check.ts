import { z } from "zod";
import { loadValidator } from "./library.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Gives a tool's input as the engine checks it: an object that fits the server's JSON Schema. */
export type InputCheck = (schema: Schema) => z.ZodType<Record<string, unknown>>;

/**
 * Checks inputs by JSON Schema before a call is made, so that the model learns of a mistake at once. Coarser than the
 * server's own check: expressions of a stranger are not run, and a schema that cannot be read lets every object pass.
 */
export async function createInputCheck(): Promise<InputCheck> {
  const { CfWorkerJsonSchemaValidator } = await loadValidator();
  const library = new CfWorkerJsonSchemaValidator();
  return (schema) => {
    // Made when it is needed: most tools of a list are never called.
    const make = (): ReturnType<typeof library.getValidator> | undefined =>
      attempt(() => library.getValidator(withoutPatterns(schema)));
    let made: { readonly check: ReturnType<typeof make> } | undefined;
    return z.record(z.string(), z.unknown()).superRefine((value, context) => {
      made ??= { check: make() };
      const answer = attempt(() => made?.check?.(value));
      if (answer && !answer.valid) context.addIssue({ code: "custom", message: answer.errorMessage.slice(0, 500) });
    });
  };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Keywords whose values are schemas by name: there a `pattern` is a name like any other. */
const BY_NAME = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Keywords that hold values, not schemas. */
const VALUES = new Set(["const", "enum", "default", "examples", "required"]);

/** The schema without regular expressions: JavaScript's engine cannot be interrupted, and these are the server's. */
function withoutPatterns(schema: Schema): Schema {
  const { pattern: _pattern, patternProperties, additionalProperties, ...rest } = schema;
  // What a pattern would have let pass must not fail for want of it.
  const others = patternProperties === undefined && additionalProperties !== undefined ? { additionalProperties } : {};
  return Object.fromEntries(
    Object.entries({ ...rest, ...others }).map(([key, value]) => {
      if (VALUES.has(key)) return [key, value];
      if (BY_NAME.has(key) && isSchema(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleaned(inner)]))];
      }
      return [key, cleaned(value)];
    }),
  );
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned);
  return isSchema(value) ? withoutPatterns(value) : value;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
