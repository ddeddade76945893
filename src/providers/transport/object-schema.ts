import { isRecord } from "./tool-arguments.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * A tool's schema as Anthropic and Chat Completions take it: an object at the top, no `$schema`, no combination at the top
 * level (both refuse `anyOf`, `oneOf`, `allOf` there; their properties are taken together).
 */
export function objectSchema(schema: Schema): Schema {
  const { $schema: _, anyOf, oneOf, allOf, ...rest } = schema;
  let properties: Record<string, unknown> = isRecord(rest.properties) ? { ...rest.properties } : {};
  let required: unknown[] = Array.isArray(rest.required) ? [...rest.required] : [];
  for (const [list, all] of [
    [allOf, true],
    [anyOf, false],
    [oneOf, false],
  ] as const) {
    if (!Array.isArray(list)) continue;
    for (const part of list) {
      if (!isRecord(part)) continue;
      if (isRecord(part.properties)) properties = { ...part.properties, ...properties };
      // Only what every alternative asks for may be required; that is known for `allOf` alone.
      if (all && Array.isArray(part.required)) required = [...new Set([...required, ...part.required])];
    }
  }
  return { ...rest, type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}
