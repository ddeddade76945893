import { CALL_ERROR_STATUS, FILE_ERROR_STATUS } from "../../src/contract/sandbox-protocol.ts";

const STATUS: Readonly<Record<string, number>> = { ...FILE_ERROR_STATUS, ...CALL_ERROR_STATUS };

/** The protocol's error body with the status its code has. */
export function refuse(code: string, message: string): Response {
  return Response.json({ error: { code, message } }, { status: STATUS[code] ?? 500 });
}
