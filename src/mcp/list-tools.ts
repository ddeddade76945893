import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";

/** Bounds of what one server may put before a model. */
const MAX_TOOLS = 256;
const MAX_PAGES = 64;
const MAX_DESCRIPTION = 8_192;
const MAX_SCHEMA = 65_536;
/** What reads schemas is recursive. */
const MAX_DEPTH = 32;

/** A tool as its server lists it. */
export const ListedTool = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema of an object, as the server has it. */
  schema: z.record(z.string(), z.unknown()),
  /** The server itself says that the call may destroy something. */
  destructive: z.boolean(),
});
export type ListedTool = z.infer<typeof ListedTool>;

/** All tools of a server, page by page, by name; `left` counts those that are too large or too many. */
export async function listTools(
  client: Client,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<{ readonly tools: readonly ListedTool[]; readonly left: number }> {
  const tools: ListedTool[] = [];
  let left = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await client.request(
      { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
      { signal: options.signal, timeout: options.timeoutMs },
    );
    for (const tool of answer.tools) {
      const fits = tools.length < MAX_TOOLS && isModest(tool.inputSchema);
      if (!fits) left++;
      else
        tools.push({
          name: tool.name,
          description: (tool.description ?? tool.title ?? tool.name).slice(0, MAX_DESCRIPTION),
          schema: { ...tool.inputSchema },
          destructive: tool.annotations?.destructiveHint === true,
        });
    }
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  // One order whatever the server's, so that a provider's cache of the prompt holds.
  return { tools: tools.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)), left };
}

function isModest(schema: unknown): boolean {
  return isShallow(schema, MAX_DEPTH) && JSON.stringify(schema).length <= MAX_SCHEMA;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}
