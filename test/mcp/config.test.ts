import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/compose/bindings.ts";
import { composeDeployment } from "../../src/compose/deployment.ts";
import { withMcpTools } from "../../src/compose/mcp.ts";
import { mcpServers } from "../../src/compose/mcp-servers.ts";
import { composeRedactor } from "../../src/compose/secrets.ts";
import type { Tool } from "../../src/contract/tools.ts";
import { toolName } from "../../src/mcp/names.ts";

const servers = (...list: object[]) => JSON.stringify(list);
const lab = { name: "lab", url: "https://mcp.example.com/mcp" };

describe("the setting MCP_SERVERS", () => {
  // spec: K-4 H-15
  test.each([
    ["not JSON", "{", "MCP_SERVERS"],
    ["an address of another kind", servers({ ...lab, url: "ftp://x" }), "MCP_SERVERS.0.url"],
    ["an address with a password", servers({ ...lab, url: "https://me:pass@x/" }), "MCP_SERVERS.0.url"],
    ["a name that cannot be part of a tool's", servers({ ...lab, name: "a__b" }), "MCP_SERVERS.0.name"],
    ["a field that does not exist", servers({ ...lab, timeout: 5 }), "MCP_SERVERS.0"],
    ["a header with a line break", servers({ ...lab, headers: { a: "x\r\nb: c" } }), "MCP_SERVERS.0.headers.a"],
    ["two servers of one name", servers(lab, lab), "MCP_SERVERS: two servers have the same name"],
  ])("is refused and the field named: %s", (_, value, field) => {
    expect(() => readConfig({ MCP_SERVERS: value })).toThrow(`configuration: ${field}`);
  });

  test("takes headers from the deployment's secrets; one that is not set is named", () => {
    const config = readConfig({ MCP_SERVERS: servers({ ...lab, headers: { Authorization: "Bearer [SECRET:LAB]" } }) });
    expect(mcpServers({ SECRET_LAB: "s3cret" }, config)[0]?.headers).toEqual({ Authorization: "Bearer s3cret" });
    expect(() => mcpServers({}, config)).toThrow("SECRET_LAB");
  });

  test("its headers are secrets, also where they stand in clear, and whether it is text or not", () => {
    // spec: S-5
    const list = [{ ...lab, headers: { "X-Key": "a-key-in-clear", Authorization: "Bearer token-in-clear" } }];
    for (const MCP_SERVERS of [JSON.stringify(list), list]) {
      const { redact } = composeRedactor({ MCP_SERVERS }, undefined);
      expect(redact("a-key-in-clear, Bearer token-in-clear")).toBe(
        "[SECRET:MCP_LAB_X_KEY], Bearer [SECRET:MCP_LAB_AUTHORIZATION]",
      );
    }
  });
});

test("a tool's name fits every provider, and long ones stay apart", () => {
  expect(toolName("lab", "files/read.text")).toBe("mcp__lab__files_read_text");
  const long = (end: string) => toolName("lab", `${"x".repeat(80)}${end}`);
  expect(long("a")).toMatch(/^[A-Za-z0-9_-]{64}$/);
  expect(long("a")).not.toBe(long("b"));
});

test("of tools whose names come out the same the first is there, and none takes the place of the product's own", async () => {
  const deployment = composeDeployment({}, readConfig({}));
  const [own] = deployment.tools.list();
  const tool = (name: string, description: string) =>
    ({ ...own, name, description, inputSchema: { type: "object" } }) as Tool;
  const name = toolName("lab", "a.b");
  expect(toolName("lab", "a/b")).toBe(name);
  const equipped = withMcpTools(deployment, [tool(name, "first"), tool(name, "second"), tool("Read", "not ours")]);
  expect(equipped.toolDefinitions.slice(deployment.toolDefinitions.length)).toEqual([
    { name, description: "first", inputSchema: { type: "object" } },
  ]);
  expect(equipped.tools.get("Read")).toBe(deployment.tools.get("Read"));
  expect(equipped.promptMeasure.toolsDigest).not.toBe(deployment.promptMeasure.toolsDigest);
});
