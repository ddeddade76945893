import type { ToolOutcome } from "../contract/tools.ts";
import type { ClientLibrary } from "./library.ts";

/** The server does not know the session any more: nothing was done, and a new one may be opened. */
export function isLostSession(error: unknown, { SdkHttpError }: ClientLibrary): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/**
 * What the model reads of a call that came to nothing. A server's own word is passed on, for it is about the call; what a
 * broken connection says is not, for it may name what lies behind it.
 */
export function failureOf(error: unknown, server: string, library: ClientLibrary): ToolOutcome {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } = library;
  if (error instanceof ProtocolError) return failed(`${server}: ${error.message.slice(0, 2_000)}`);
  if (error instanceof SdkHttpError) {
    const done = error.status !== undefined && error.status >= 500 ? UNSURE : "";
    return failed(`the MCP server ${server} answered HTTP ${error.status}${done}`);
  }
  const wrong = error instanceof SdkError && error.code !== SdkErrorCode.ConnectionClosed;
  const what = wrong ? `the MCP server ${server} gave no answer that can be used` : BROKEN(server);
  return failed(`${what}${UNSURE}`);
}

const BROKEN = (server: string): string => `the connection to the MCP server ${server} failed`;
const UNSURE = "; whether the call took effect is unknown";

function failed(message: string): ToolOutcome {
  return { content: `error: ${message}`, isError: true };
}
