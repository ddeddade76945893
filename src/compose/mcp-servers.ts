import { Config } from "../contract/config.ts";
import type { McpServer } from "../contract/mcp.ts";
import { type Bindings, setting } from "./bindings.ts";

const Setting = Config.pick({ MCP_SERVERS: true });
/** The words before a token are everybody's. */
const SCHEME = /^(?:Basic|Bearer|Token|ApiKey|Digest|DPoP) +(.+)$/i;
const SECRET = /\[SECRET:([A-Za-z0-9_]+)\]/g;

/** The deployment's MCP servers with their headers as they are sent; throws when a header names a secret that is not there. */
export function mcpServers(env: Bindings, config: Pick<Config, "MCP_SERVERS">): readonly McpServer[] {
  return (config.MCP_SERVERS ?? []).map((server) => {
    if (!server.headers) return server;
    const headers = Object.entries(server.headers).map(([name, value]) => [name, withSecrets(value, env, server.name)]);
    return { ...server, headers: Object.fromEntries(headers) as Record<string, string> };
  });
}

function withSecrets(value: string, env: Bindings, server: string): string {
  return value.replace(SECRET, (_, name: string) => {
    const secret = setting(env, `SECRET_${name}`);
    if (secret === undefined) {
      throw new Error(`configuration: MCP_SERVERS: the headers of ${server} name SECRET_${name}, which is not set`);
    }
    return secret;
  });
}

/** What the servers are sent in headers, to be hidden like every secret: values, without the name of a scheme. */
export function mcpSecrets(env: Bindings): Readonly<Record<string, string>> {
  if (env.MCP_SERVERS === undefined || env.MCP_SERVERS === "") return {};
  const parsed = Setting.safeParse(env);
  if (!parsed.success) return {};
  const found = mcpServers(env, parsed.data).flatMap(({ name, headers = {} }) =>
    Object.entries(headers).map(([header, value]) => {
      const label = `MCP_${name}_${header}`.toUpperCase().replace(/[^A-Z0-9]/g, "_");
      return [label, SCHEME.exec(value)?.[1] ?? value] as const;
    }),
  );
  return Object.fromEntries(found);
}
