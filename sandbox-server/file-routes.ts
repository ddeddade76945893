import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { MAX_WALK_ENTRIES, MkdirBody } from "../src/contract/sandbox-protocol.ts";
import { readBody, sendError, sendJson } from "./answers.ts";
import {
  type FileSpace,
  listFolder,
  makeFolder,
  readFile,
  realPath,
  removeFile,
  statFile,
  toFileError,
  walkFolder,
  writeFile,
} from "./files.ts";

export type FileCall = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly space: FileSpace;
  readonly maxBodyBytes: number;
};

/** `/file/{path}`: the bytes of one file. */
export async function serveFile(call: FileCall, path: string): Promise<void> {
  const { request, response, space, query } = call;
  await answer(call, path, async () => {
    switch (request.method) {
      case "GET": {
        const content = await readFile(space, path);
        response.writeHead(200, { "content-type": "application/octet-stream", "content-length": content.length });
        response.end(content);
        return;
      }
      case "PUT": {
        const content = await readBody(request, space.maxFileBytes);
        if (!content)
          return sendError(response, "too_large", `file too large: at most ${space.maxFileBytes} bytes: ${path}`);
        await writeFile(space, path, content);
        response.writeHead(204).end();
        return;
      }
      case "DELETE":
        await removeFile(space, path, query.get("recursive") === "true");
        response.writeHead(204).end();
        return;
      default:
        return sendError(response, "no_route", "files take GET, PUT and DELETE");
    }
  });
}

/** `stat`, `list`, `walk`, `realpath` (GET, `?path=`) and `mkdir` (POST). False when there is no such route. */
export async function serveFolder(call: FileCall, operation: string): Promise<boolean> {
  const { request, response, space, query } = call;
  const path = query.get("path") ?? "";
  const route = `${request.method} ${operation}`;
  switch (route) {
    case "GET stat":
      await answer(call, path, async () =>
        sendJson(response, 200, await statFile(space, path, query.get("follow") !== "false")),
      );
      return true;
    case "GET list":
      await answer(call, path, async () => sendJson(response, 200, { entries: await listFolder(space, path) }));
      return true;
    case "GET walk": {
      const limit = z.coerce
        .number()
        .int()
        .min(0)
        .max(MAX_WALK_ENTRIES)
        .catch(MAX_WALK_ENTRIES)
        .parse(query.get("limit"));
      await answer(call, path, async () => sendJson(response, 200, { entries: await walkFolder(space, path, limit) }));
      return true;
    }
    case "GET realpath":
      await answer(call, path, async () => sendJson(response, 200, { path: await realPath(space, path) }));
      return true;
    case "POST mkdir": {
      const text = await readBody(request, call.maxBodyBytes);
      const body = MkdirBody.safeParse(parseJson(text));
      if (!body.success) sendError(response, "invalid", "the body must be {path}");
      else {
        await answer(call, body.data.path, async () => {
          await makeFolder(space, body.data.path);
          response.writeHead(204).end();
        });
      }
      return true;
    }
    default:
      return false;
  }
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: Buffer | undefined): unknown {
  try {
    return text && JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

async function answer(call: FileCall, path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code, message } = toFileError(error, path);
    sendError(call.response, code, message);
  }
}
