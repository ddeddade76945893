/**
 * The protocol's own client library, loaded when a deployment has MCP servers: one without them pays nothing for it at
 * start. It speaks both eras of the protocol, the session-based one up to 2025-11-25 and the stateless one from 2026-07-28.
 */
export const loadClient = () => import("@modelcontextprotocol/client");

/** Its JSON Schema validator that compiles nothing to code, as workerd demands. */
export const loadValidator = () => import("@modelcontextprotocol/client/validators/cf-worker");

export type ClientLibrary = Awaited<ReturnType<typeof loadClient>>;
