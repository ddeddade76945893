import type { IncomingMessage, ServerResponse } from "node:http";
import { CALL_ERROR_STATUS, FILE_ERROR_STATUS } from "../src/contract/sandbox-protocol.ts";

const STATUS: Readonly<Record<string, number>> = { ...FILE_ERROR_STATUS, ...CALL_ERROR_STATUS };

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** The protocol's error body with the status its code has. */
export function sendError(response: ServerResponse, code: string, message: string): void {
  if (response.headersSent) response.destroy();
  else sendJson(response, STATUS[code] ?? 500, { error: { code, message } });
}

/** The whole body, or undefined when it is longer than `maxBytes`; then the rest is not read. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    // no encoding is set: chunks are bytes
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
