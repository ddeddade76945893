import { z } from "zod";

/** A value a person may give for a field; a list only where the field is an `array` of options. */
export const ElicitationValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
export type ElicitationValue = z.infer<typeof ElicitationValue>;

/** One thing that is asked for (E-16). Lengths are in characters; `array`: any number of the options. */
export const ElicitationField = z.object({
  name: z.string(),
  type: z.enum(["string", "number", "integer", "boolean", "array"]),
  required: z.boolean(),
  title: z.string().optional(),
  description: z.string().optional(),
  format: z.enum(["email", "uri", "date", "date-time"]).optional(),
  min_length: z.number().optional(),
  max_length: z.number().optional(),
  /** Of a number; of an `array`: how many options. */
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  options: z.array(z.object({ value: z.string(), title: z.string() })).optional(),
  default: ElicitationValue.optional(),
});
export type ElicitationField = z.infer<typeof ElicitationField>;

/** What an MCP server wants to know while one of its tools runs (D-3). */
export const ElicitationQuestion = z.object({
  server: z.string(),
  message: z.string(),
  fields: z.array(ElicitationField),
});
export type ElicitationQuestion = z.infer<typeof ElicitationQuestion>;

/** `content` with `accept` only: values by field. `decline`: the person said no; `cancel`: nobody decided. */
export const ElicitationAnswer = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.record(z.string(), ElicitationValue).optional(),
});
export type ElicitationAnswer = z.infer<typeof ElicitationAnswer>;
