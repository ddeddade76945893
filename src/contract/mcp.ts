import { z } from "zod";

/** A header value may stand for an engine-wide secret: `[SECRET:NAME]` is replaced by `SECRET_<NAME>`. */
const HeaderValue = z
  .string()
  .max(8_192)
  .regex(/^[^\r\n\0]*$/, "a header value has no line breaks");

/** An MCP server of the deployment (K-4): reached over streamable HTTP, at whatever host the operator names. */
export const McpServer = z.strictObject({
  /** Part of its tools' names, `mcp__<name>__<tool>`; without `__`, so that the parts can be told apart. */
  name: z
    .string()
    .regex(
      /^(?!.*__)[A-Za-z0-9-](?:[A-Za-z0-9_-]{0,30}[A-Za-z0-9-])?$/,
      "a name is 1 to 32 of A-Z a-z 0-9 - and single _",
    ),
  url: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).refine(hasNoUser, {
    message: "must not hold a user name or password; use headers",
  }),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/), HeaderValue).optional(),
  /** How long one call may take, without the time that a person is waited for; the deployment's tool limit when absent. */
  timeout_seconds: z.number().positive().max(86_400).optional(),
  /** Tools, by the server's own names, that the operator knows to only read: they run without a question. */
  read_only_tools: z.array(z.string().min(1).max(256)).max(512).optional(),
});
export type McpServer = z.infer<typeof McpServer>;

export const McpServers = z
  .array(McpServer)
  .max(32)
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    message: "two servers have the same name",
  });

function hasNoUser(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && parsed.username === "" && parsed.password === "";
}
