import type { McpSession, RpcMessage, ScriptedMcp } from "./scripted-mcp.ts";

/** A call as the server saw it; `answers`: what it was told when it asked. */
export type McpCall = {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly session: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly answers: RpcMessage[];
};

const tool = (name: string, properties: Record<string, unknown> = {}, more: Record<string, unknown> = {}) => ({
  name,
  description: `The tool ${name} of the lab`,
  inputSchema: { type: "object", properties: { key: { type: "string" }, ...properties }, ...more },
});

export const MCP_TOOLS = [
  tool("echo", { text: { type: "string", minLength: 1, pattern: "^(a+)+$|." } }, { required: ["text"] }),
  tool("look", {}),
  { ...tool("wipe"), annotations: { destructiveHint: true, readOnlyHint: true } },
  tool("picture"),
  tool("structured"),
  tool("fail"),
  tool("ask"),
  tool("ask.aside"),
  tool("ask/twice"),
  tool("progress"),
  tool("drop"),
  tool("hang"),
  tool("count"),
  tool("refuse"),
  tool("header"),
  tool("withdraw"),
];

/** What the server asks: one field of each kind. */
export const MCP_FORM = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 2, maxLength: 10 },
    age: { type: "integer", minimum: 1, maximum: 150 },
    colour: { type: "string", enum: ["red", "blue"], enumNames: ["Red", "Blue"] },
    sure: { type: "boolean", default: false },
  },
  required: ["name"],
};

type Parts = {
  readonly server: ScriptedMcp;
  readonly session: McpSession | undefined;
  readonly id: unknown;
  readonly token: unknown;
  readonly write: (message: RpcMessage) => void;
};

const text = (words: string) => ({ result: { content: [{ type: "text", text: words }] } });

/** Carries a call out; undefined: it gets no answer. */
export async function runMcpTool(call: McpCall, { server, session, token, write }: Parts): Promise<RpcMessage> {
  const ask = async (to = write): Promise<RpcMessage> => {
    const answer = await server.ask(to, { message: "Who are you?", requestedSchema: MCP_FORM });
    call.answers.push(answer.result ?? answer.error);
    return answer.result ?? answer.error;
  };
  switch (call.tool) {
    case "picture":
      return {
        result: {
          content: [
            { type: "text", text: "a dot" },
            { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
            { type: "audio", mimeType: "audio/wav", data: "AAAA" },
            { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
            { type: "resource_link", uri: "file:///b.txt", name: "b" },
          ],
        },
      };
    case "structured":
      return { result: { content: [], structuredContent: { degrees: 21 } } };
    case "fail":
      return { result: { content: [{ type: "text", text: "it broke" }], isError: true } };
    case "refuse":
      return { error: { code: -32602, message: "the lab refuses" } };
    case "header":
      return text(`sent with ${call.headers.authorization ?? "nothing"}`);
    case "count":
      if (session) session.count++;
      return text(`call ${session?.count ?? 0}`);
    case "progress":
      write({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: token, progress: 1, total: 2, message: "half" },
      });
      return text("whole");
    case "ask":
      return text(`you said ${JSON.stringify(await ask())}`);
    case "ask/twice":
      return text(`you said ${JSON.stringify(await Promise.all([ask(), ask()]))}`);
    case "ask.aside":
      return text(
        `you said ${JSON.stringify(await ask((message) => void session?.aside?.write(`data: ${JSON.stringify(message)}\n\n`)))}`,
      );
    case "withdraw": {
      let id: unknown;
      void ask((message) => {
        id = message.id;
        write(message);
      });
      await new Promise((resolve) => setTimeout(resolve, Number(call.input.after ?? 50)));
      write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: "never mind" } });
      await new Promise((resolve) => setTimeout(resolve, 50));
      return text("done without you");
    }
    case "drop":
    case "hang":
      return undefined;
    default:
      return text(`${call.tool}: ${JSON.stringify(call.input)}`);
  }
}
