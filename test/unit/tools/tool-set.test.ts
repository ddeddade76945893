import { describe, expect, it } from "vitest";
import { createBuiltinTools, createToolSet, toModelTool, toolDefinition } from "../../../src/tools/index.ts";
import { createTodoWriteTool } from "../../../src/tools/todo-write.ts";
import { FakeWorld, textOf } from "./fake-sandbox.ts";

const tools = createBuiltinTools({ defaultTimeoutMs: 120_000, maxTimeoutMs: 600_000 });

describe("the built-in tools", () => {
  // spec: K-1
  it("declare how they are judged, shared and recovered", () => {
    const row = (name: string) => {
      const metadata = createToolSet(tools).get(name)?.metadata;
      return [metadata?.permissionClass, metadata?.readOnly, metadata?.concurrencySafe, metadata?.recovery];
    };
    expect(row("Bash")).toEqual(["bash", false, false, "unknown"]);
    expect(row("Write")).toEqual(["file", false, false, "unknown"]);
    expect(row("Edit")).toEqual(["file", false, false, "unknown"]);
    for (const name of ["Read", "Glob", "Grep"]) expect(row(name)).toEqual(["file", true, true, "rerun"]);
    expect(row("TodoWrite")).toEqual(["readonly", true, false, "rerun"]);
    expect(row("WebFetch")).toEqual(["webfetch", true, true, "rerun"]);
  });

  // spec: K-1
  it("describe their input as a JSON Schema of an object", () => {
    for (const tool of tools) {
      const shown = toolDefinition(tool);
      expect(shown.input_schema).toMatchObject({ type: "object", properties: expect.any(Object) });
      expect(shown.description.length).toBeGreaterThan(80);
      expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
      expect(toModelTool(tool)).toEqual({
        name: shown.name,
        description: shown.description,
        inputSchema: shown.input_schema,
      });
    }
    expect(toolDefinition(tools[0] ?? createTodoWriteTool()).input_schema).toMatchObject({
      required: ["command"],
      properties: { timeout: { description: "Timeout in milliseconds (default 120000, max 600000)" } },
    });
  });

  it("have names of their own", () => {
    expect(() => createToolSet([...tools, createTodoWriteTool()])).toThrow("TodoWrite");
    expect(createToolSet(tools).get("Nothing")).toBeUndefined();
    expect(createToolSet(tools).list()).toHaveLength(14);
  });
});

describe("TodoWrite", () => {
  // spec: K-1
  it("keeps the list as a fact of the session", async () => {
    const world = new FakeWorld();
    const todos = [
      { content: "a", status: "completed" },
      { content: "b", status: "pending" },
    ];
    const outcome = await world.run(createTodoWriteTool(), { todos });
    expect(textOf(outcome)).toContain("1 completed, 0 in progress, 1 pending");
    expect(world.facts.todos).toEqual(todos);
  });
});
