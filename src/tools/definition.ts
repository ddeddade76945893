import { z } from "zod";
import type { ToolDefinition } from "../contract/model.ts";
import type { Tool } from "../contract/tools.ts";

/** What the HTTP surface shows of a tool. */
export type WireToolDefinition = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input_schema: Readonly<Record<string, unknown>>;
};

/** The tool as the API lists it; the schema comes from the one that parses the input. */
export function toolDefinition(tool: Tool): WireToolDefinition {
  return { name: tool.name, description: tool.description, input_schema: inputSchema(tool) };
}

/** The tool as a model provider takes it. */
export function toModelTool(tool: Tool): ToolDefinition {
  return { name: tool.name, description: tool.description, inputSchema: inputSchema(tool) };
}

/** What may be sent in, not what parsing makes of it: a field with a default stays optional. */
function inputSchema(tool: Tool): Readonly<Record<string, unknown>> {
  if (tool.inputSchema) return tool.inputSchema;
  const {
    $schema: _dialect,
    "~standard": _standard,
    ...schema
  } = z.toJSONSchema(tool.input, { io: "input" }) as Record<string, unknown>;
  if (schema.type !== "object") throw new Error(`the input of ${tool.name} is not an object`);
  return schema;
}
