import { env } from "cloudflare:workers";
import type { McpCall } from "../support/scripted-mcp-tools.ts";

/** A call of the lab's tool, as the scripted model makes it. */
export const lab = (id: string, tool: string, input: Record<string, unknown> = {}) => ({
  id,
  name: `mcp__lab__${tool}`,
  input,
});

/** The calls that reached the server, by their argument `key`. */
export async function callsOf(key: string): Promise<McpCall[]> {
  return (await fetch(`${env.MCP}/__calls/${encodeURIComponent(key)}`)).json();
}

/** Ids of the sessions that are open at the server. */
export async function openSessions(): Promise<string[]> {
  return (await fetch(`${env.MCP}/__sessions`)).json();
}
