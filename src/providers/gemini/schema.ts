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

/** Below this depth a schema becomes a plain object. */
const DEPTH = 12;

/** Nodes of one schema; references that point at each other would make a small one grow without end. */
const NODES = 2_000;

/** One conversion: what references are looked up in, and how many nodes may still come. */
type Work = { readonly root: Readonly<Schema>; nodes: number };

/** A JSON Schema in the subset Gemini takes: no references, no unions but `anyOf`, `nullable` for null. */
export function geminiSchema(schema: Readonly<Schema>): Schema {
  return convert(schema, { root: schema, nodes: NODES }, 0, new Set());
}

/** Parameters of a function; undefined for an object without properties, which the API wants left out. */
export function geminiParameters(schema: Readonly<Schema>): Schema | undefined {
  const converted = geminiSchema({ type: "object", ...schema });
  return isRecord(converted.properties) && Object.keys(converted.properties).length > 0
    ? { ...converted, type: "object" }
    : undefined;
}

/** `inside`: the references on the way here; one that comes again points at itself and becomes a plain object. */
function convert(source: unknown, work: Work, depth: number, inside: ReadonlySet<string>): Schema {
  if (!isRecord(source)) return { type: "string" };
  work.nodes -= 1;
  if (depth > DEPTH || work.nodes < 0) return { type: "object" };
  const refs = new Set(inside);
  const node = flatten(source, work.root, refs);
  const inner = (part: unknown): Schema => convert(part, work, depth + 1, refs);
  const out: Schema = {};
  for (const key of PLAIN) if (node[key] !== undefined) out[key] = node[key];
  const types = (Array.isArray(node.type) ? node.type : [node.type]).filter((t): t is string => typeof t === "string");
  const named = types.map((t) => t.toLowerCase()).filter((t) => t !== "null");
  if (types.length > named.length || node.nullable === true) out.nullable = true;
  const choices = alternatives(node, out, inner);
  if (choices) return choices;
  const [only] = named;
  if (named.length > 1) return { ...out, anyOf: named.map((type) => inner({ ...node, type, description: undefined })) };
  const type = only ?? guess(node);
  if (type) out.type = type;
  enumeration(node, type, out);
  if (typeof node.format === "string" && FORMATS.has(node.format)) out.format = node.format;
  if (type === "object" || isRecord(node.properties)) objectParts(node, out, inner);
  if (type === "array") out.items = inner(itemsOf(node));
  return out;
}

/** References resolved and `allOf` merged. */
function flatten(node: Schema, root: Readonly<Schema>, refs: Set<string>): Schema {
  if (typeof node.$ref === "string") {
    const { $ref, ...rest } = node;
    if (refs.has($ref)) return { type: "object", ...rest };
    refs.add($ref);
    return flatten({ ...resolve($ref, root), ...rest }, root, refs);
  }
  if (!Array.isArray(node.allOf)) return node;
  const { allOf, ...rest } = node;
  const parts = allOf.filter(isRecord).map((part) => flatten(part, root, refs));
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

type Inner = (part: unknown) => Schema;

/** `anyOf` and `oneOf`; a branch that is only null becomes `nullable`. */
function alternatives(node: Schema, out: Schema, inner: Inner): Schema | undefined {
  const list = Array.isArray(node.anyOf) ? node.anyOf : Array.isArray(node.oneOf) ? node.oneOf : undefined;
  if (!list) return undefined;
  const real = list.filter((branch) => !(isRecord(branch) && (branch.type === "null" || branch.const === null)));
  if (real.length < list.length) out.nullable = true;
  const { anyOf: _a, oneOf: _o, ...base } = node;
  // Branches that only add `required` to an object stay one object.
  if (isRecord(base.properties)) return { ...out, ...inner(base) };
  const [first] = real;
  if (real.length === 1) return { ...inner(first), ...out };
  return { ...out, anyOf: real.map(inner) };
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

function objectParts(node: Schema, out: Schema, inner: Inner): void {
  const properties = isRecord(node.properties) ? node.properties : {};
  const names = Object.keys(properties);
  if (names.length === 0) return;
  out.properties = Object.fromEntries(names.map((name) => [name, inner(properties[name])]));
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
