import { expect, test } from "vitest";
import type { ElicitationField } from "../../../src/contract/elicitation.ts";
import { checkContent } from "../../../src/session/elicitation.ts";

const options = [
  { value: "red", title: "Red" },
  { value: "blue", title: "Blue" },
];
const FIELDS: ElicitationField[] = [
  { name: "name", type: "string", required: true, min_length: 2, max_length: 4 },
  { name: "age", type: "integer", required: false, minimum: 1, maximum: 150 },
  { name: "size", type: "number", required: false },
  { name: "sure", type: "boolean", required: false },
  { name: "colour", type: "string", required: false, options },
  { name: "mail", type: "string", required: false, format: "email" },
  { name: "day", type: "string", required: false, format: "date" },
  { name: "many", type: "array", required: false, options, minimum: 1, maximum: 1 },
];

// spec: D-3
test.each([
  [{ name: "Ada" }],
  [{ name: "👩‍🚀😀".slice(0, 2).repeat(2) }],
  [{ name: "Ada", age: 36, size: 1.5, sure: false, colour: "red", mail: "a@b.c", day: "2026-12-01", many: ["blue"] }],
])("takes what was asked for: %j", (content) => {
  expect(checkContent(FIELDS, content)).toEqual({ ok: true, value: content });
});

test.each([
  [{}, "content.name: is required"],
  [{ name: 7 }, "content.name: must be a string"],
  [{ name: "A" }, "content.name: must have at least 2 characters"],
  [{ name: "Adele" }, "content.name: must have at most 4 characters"],
  [{ name: "Ada", age: 1.5 }, "content.age: must be an integer"],
  [{ name: "Ada", age: 0 }, "content.age: must be at least 1"],
  [{ name: "Ada", age: 151 }, "content.age: must be at most 150"],
  [{ name: "Ada", size: "big" }, "content.size: must be a number"],
  [{ name: "Ada", sure: "yes" }, "content.sure: must be true or false"],
  [{ name: "Ada", colour: "green" }, "content.colour: must be one of the options"],
  [{ name: "Ada", mail: "nobody" }, "content.mail: must be a email"],
  [{ name: "Ada", day: "2026-13-01" }, "content.day: must be a date"],
  [{ name: "Ada", many: ["green"] }, "content.many: must hold options only"],
  [{ name: "Ada", many: ["red", "blue"] }, "content.many: must have at most 1 items"],
  [{ name: "Ada", many: "red" }, "content.many: must be a list of strings"],
  [{ name: "Ada", other: 1 }, "content.other: is not asked for"],
])("names the field that does not fit, never its value: %j", (content, error) => {
  expect(checkContent(FIELDS, content)).toEqual({ ok: false, error });
});
