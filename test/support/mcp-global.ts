import type { TestProject } from "vitest/node";
import { ScriptedMcp } from "./scripted-mcp.ts";
import startUpstream from "./upstream-global.ts";

declare module "vitest" {
  interface ProvidedContext {
    mcpUrl: string;
  }
}

/** Starts the scripted model server and the scripted MCP server once for all tests that run inside workerd. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stopUpstream = await startUpstream(project);
  const mcp = await ScriptedMcp.start();
  project.provide("mcpUrl", mcp.url);
  return async () => {
    await stopUpstream();
    await mcp.close();
  };
}
