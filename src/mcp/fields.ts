import type { ElicitRequest } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { ElicitationField, ElicitationQuestion } from "../contract/elicitation.ts";

/** Bounds of what a server may put before a person. */
const MAX_FIELDS = 64;
const MAX_OPTIONS = 256;
const MAX_TEXT = 4_000;

const Choice = z.object({ const: z.string(), title: z.string() });

/** What the protocol allows a field to be; the library has checked the rest. */
const Property = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "array"]),
  title: z.string().optional(),
  description: z.string().optional(),
  format: z.enum(["email", "uri", "date", "date-time"]).optional().catch(undefined),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(Choice).optional(),
  items: z.object({ enum: z.array(z.string()).optional(), anyOf: z.array(Choice).optional() }).optional(),
  default: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).optional(),
});
type Property = z.infer<typeof Property>;

/** A server's question in the product's terms; undefined: it cannot be put to a person (too much, or of an unknown kind). */
export function questionOf(server: string, request: ElicitRequest): ElicitationQuestion | undefined {
  const { params } = request;
  if (!("requestedSchema" in params)) return undefined;
  const { properties, required = [] } = params.requestedSchema;
  const entries = Object.entries(properties);
  if (entries.length > MAX_FIELDS) return undefined;
  const fields: ElicitationField[] = [];
  for (const [name, schema] of entries) {
    const property = Property.safeParse(schema);
    const field = property.success ? fieldOf(name, property.data, required.includes(name)) : undefined;
    if (!field || name.length > 256) return undefined;
    fields.push(field);
  }
  return { server, message: params.message.slice(0, MAX_TEXT), fields };
}

function fieldOf(name: string, property: Property, required: boolean): ElicitationField | undefined {
  const options = optionsOf(property);
  if (options && options.length > MAX_OPTIONS) return undefined;
  if (property.type === "array" && !options) return undefined;
  const { type, title, description, format } = property;
  const given = {
    title: title?.slice(0, MAX_TEXT),
    description: description?.slice(0, MAX_TEXT),
    format,
    min_length: property.minLength,
    max_length: property.maxLength,
    minimum: property.minimum ?? property.minItems,
    maximum: property.maximum ?? property.maxItems,
    options,
    default: property.default,
  };
  return { name, type, required, ...set(given) };
}

function optionsOf({ enum: values, enumNames, oneOf, items }: Property): ElicitationField["options"] {
  const choices = oneOf ?? items?.anyOf;
  if (choices) return choices.map((choice) => ({ value: choice.const, title: choice.title }));
  return (values ?? items?.enum)?.map((value, i) => ({ value, title: enumNames?.[i] ?? value }));
}

/** Without what is not there. */
function set<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
