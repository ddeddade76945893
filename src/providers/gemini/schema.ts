import { isRecord } from "../transport/tool-arguments.ts";

type Schema = Record<string, unknown>;

/** Keywords passed on as they are; everything else is unknown to the API and refused (provider-protocols 6). */
const PLAIN = [
  "title",
  "description",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
] as const;

const FORMATS: ReadonlySet<string> = new Set(["enum", "date-time", "int32", "int64", "float", "double"]);

/** References may point at themselves; below this depth they become a plain object. */
const DEPTH = 12;

/** A JSON Schema in the subset Gemini takes: no references, no unions but `anyOf`, `nullable` for null. */
export function geminiSchema(schema: Readonly<Schema>): Schema {
  return convert(schema, schema, 0);
}

/** Parameters of a function; undefined for an object without properties, which the API wants left out. */
export function geminiParameters(schema: Readonly<Schema>): Schema | undefined {
  const converted = geminiSchema({ type: "object", ...schema });
  return isRecord(converted.properties) && Object.keys(converted.properties).length > 0
    ? { ...converted, type: "object" }
    : undefined;
}

function convert(source: unknown, root: Readonly<Schema>, depth: number): Schema {
  if (!isRecord(source)) return { type: "string" };
  if (depth > DEPTH) return { type: "object" };
  const node = flatten(source, root);
  const out: Schema = {};
  for (const key of PLAIN) if (node[key] !== undefined) out[key] = node[key];
  const types = (Array.isArray(node.type) ? node.type : [node.type]).filter((t): t is string => typeof t === "string");
  const named = types.map((t) => t.toLowerCase()).filter((t) => t !== "null");
  if (types.length > named.length || node.nullable === true) out.nullable = true;
  const choices = alternatives(node, out, root, depth);
  if (choices) return choices;
  const [only] = named;
  if (named.length > 1)
    return { ...out, anyOf: named.map((type) => convert({ ...node, type, description: undefined }, root, depth + 1)) };
  const type = only ?? guess(node);
  if (type) out.type = type;
  enumeration(node, type, out);
  if (typeof node.format === "string" && FORMATS.has(node.format)) out.format = node.format;
  if (type === "object" || isRecord(node.properties)) objectParts(node, root, depth, out);
  if (type === "array") out.items = convert(itemsOf(node), root, depth + 1);
  return out;
}

/** References resolved and `allOf` merged. */
function flatten(node: Schema, root: Readonly<Schema>, hops = 0): Schema {
  if (typeof node.$ref === "string" && hops < DEPTH) {
    const { $ref, ...rest } = node;
    return flatten({ ...resolve($ref, root), ...rest }, root, hops + 1);
  }
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...rest } = node;
  const parts = allOf.filter(isRecord).map((part) => flatten(part, root, hops + 1));
  const all: readonly Schema[] = [rest, ...parts];
  const required = all.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  const properties = Object.assign({}, ...all.map((part) => (isRecord(part.properties) ? part.properties : {})));
  return {
    ...Object.assign({}, ...parts),
    ...rest,
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
  };
}

function resolve(ref: string, root: Readonly<Schema>): Schema {
  let at: unknown = root;
  for (const step of ref
    .replace(/^#\/?/, "")
    .split("/")
    .filter((s) => s !== "")) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return isRecord(at) && at !== root ? at : { type: "object" };
}

/** `anyOf` and `oneOf`; a branch that is only null becomes `nullable`. */
function alternatives(node: Schema, out: Schema, root: Readonly<Schema>, depth: number): Schema | undefined {
  const list = Array.isArray(node.anyOf) ? node.anyOf : Array.isArray(node.oneOf) ? node.oneOf : undefined;
  if (!list) return undefined;
  const real = list.filter((branch) => !(isRecord(branch) && (branch.type === "null" || branch.const === null)));
  if (real.length < list.length) out.nullable = true;
  const { anyOf: _a, oneOf: _o, ...base } = node;
  // Branches that only add `required` to an object stay one object.
  if (isRecord(base.properties)) return { ...out, ...convert(base, root, depth) };
  const [first] = real;
  if (real.length === 1) return { ...convert(first, root, depth + 1), ...out };
  return { ...out, anyOf: real.map((branch) => convert(branch, root, depth + 1)) };
}

function guess(node: Schema): string | undefined {
  if (isRecord(node.properties)) return "object";
  if (node.items !== undefined || node.prefixItems !== undefined) return "array";
  const values = Array.isArray(node.enum) ? node.enum : node.const === undefined ? [] : [node.const];
  return values.length > 0 && values.every((v) => typeof v === "number")
    ? "number"
    : values.length > 0 && values.every((v) => typeof v === "boolean")
      ? "boolean"
      : "string";
}

/** Only strings can be enumerated. */
function enumeration(node: Schema, type: string | undefined, out: Schema): void {
  const values = Array.isArray(node.enum) ? node.enum : node.const === undefined ? undefined : [node.const];
  if (!values) return;
  const texts = values.filter((v): v is string => typeof v === "string" && v !== "");
  if (values.includes(null)) out.nullable = true;
  if (type === "string" && texts.length > 0) out.enum = texts;
}

function objectParts(node: Schema, root: Readonly<Schema>, depth: number, out: Schema): void {
  const properties = isRecord(node.properties) ? node.properties : {};
  const names = Object.keys(properties);
  if (names.length === 0) return;
  out.properties = Object.fromEntries(names.map((name) => [name, convert(properties[name], root, depth + 1)]));
  // A required name that is no property is refused.
  const required = Array.isArray(node.required)
    ? node.required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name))
    : [];
  if (required.length > 0) out.required = required;
}

function itemsOf(node: Schema): unknown {
  const tuple = Array.isArray(node.prefixItems) ? node.prefixItems : Array.isArray(node.items) ? node.items : undefined;
  if (!tuple) return isRecord(node.items) ? node.items : { type: "string" };
  return tuple.length === 1 ? tuple[0] : { anyOf: tuple };
}
