import { chmod, lstat, mkdir, readdir, readFile, readlink, realpath, rm, stat, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { json, readBytes, readJson } from "./fake-envd.ts";

export type Room = { readonly home: string; limit(): number | undefined };

/** What Go says of an errno. */
const GO_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EISDIR: "is a directory",
  ELOOP: "too many levels of symbolic links",
  EACCES: "permission denied",
};

/** Errors as `connect.NewError` makes them. */
class RpcError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** `filesystem.Filesystem` and `/files`, line by line after envd's `services/filesystem` and `api/{upload,download}.go`. */
export function createFakeFilesystem(room: Room) {
  const methods: Record<string, (body: Record<string, unknown>) => Promise<unknown>> = {
    Stat: async ({ path }) => ({ entry: await entryInfo(String(path)) }),
    async ListDir({ path }) {
      const asked = String(path);
      const resolved = await followLink(asked);
      if (!(await stat(resolved)).isDirectory()) {
        throw new RpcError("invalid_argument", `path is not a directory: ${resolved}`);
      }
      const names = await readdir(resolved);
      return { entries: await Promise.all(names.map((name) => entryInfo(join(asked, name)))) };
    },
    async MakeDir({ path }) {
      const at = String(path);
      const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw new RpcError("internal", `error getting file info: stat ${at}: ${words(error)}`);
      });
      if (found?.isDirectory()) throw new RpcError("already_exists", `directory already exists: ${at}`);
      if (found) throw new RpcError("invalid_argument", `path already exists but it is not a directory: ${at}`);
      await ensureDirs(at);
      return { entry: { name: at.split("/").at(-1), type: "FILE_TYPE_DIRECTORY", path: at } };
    },
    async Remove({ path }) {
      await rm(String(path), { recursive: true, force: true });
      return {};
    },
  };
  return {
    async handle(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
      const body = await readJson(request);
      const method = methods[name.split("/")[1] ?? ""];
      try {
        if (!method) throw new RpcError("unimplemented", name);
        json(response, 200, await method(body));
      } catch (error) {
        const failed = error instanceof RpcError ? error : new RpcError("internal", String(error));
        const status = { not_found: 404, already_exists: 409, invalid_argument: 400 }[failed.code] ?? 500;
        json(response, status, { code: failed.code, message: failed.message });
      }
    },
    async transfer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
      const path = url.searchParams.get("path") ?? "";
      const fail = (code: number, message: string) => json(response, code, { code, message });
      if (url.searchParams.get("username") !== "user") return fail(401, "error looking up user");
      if (request.method === "GET") return download(response, path, fail);
      const type = request.headers["content-type"] ?? "";
      const form = await new Response(new Uint8Array(await readBytes(request)), {
        headers: { "content-type": type },
      }).formData();
      const part = form.get("file");
      if (!(part instanceof Blob)) return fail(400, `unsupported content type: ${type}`);
      return upload(room, response, path, new Uint8Array(await part.arrayBuffer()), fail);
    },
  };
}

async function download(response: ServerResponse, path: string, fail: (code: number, message: string) => void) {
  try {
    if ((await stat(path)).isDirectory()) return fail(400, `path '${path}' is a directory`);
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(await readFile(path));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return fail(404, `path '${path}' does not exist`);
    return fail(500, `error checking if path exists '${path}': stat ${path}: ${words(error)}`);
  }
}

async function upload(
  room: Room,
  response: ServerResponse,
  path: string,
  content: Uint8Array,
  fail: (code: number, message: string) => void,
) {
  try {
    await ensureDirs(dirname(path));
  } catch (error) {
    return fail(500, `error ensuring directories: ${error instanceof Error ? error.message : ""}`);
  }
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return fail(400, `path is a directory: ${path}`);
  const limit = room.limit();
  if (limit !== undefined && (await usedBytes(room.home)) - (found?.size ?? 0) + content.length > limit) {
    return fail(507, `attempted to write ${content.length} bytes: not enough disk space available`);
  }
  await writeFile(path, content);
  if (!found) await chmod(path, 0o644);
  return json(response, 200, [{ path, name: path.split("/").at(-1), type: "file" }]);
}

async function ensureDirs(path: string): Promise<void> {
  const parts = path.split("/");
  for (let length = 2; length <= parts.length; length++) {
    const at = parts.slice(0, length).join("/");
    const found = await stat(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw new RpcError("internal", `failed to stat directory: ${at}: ${words(error)}`);
    });
    if (!found) await mkdir(at).catch(() => undefined);
    else if (!found.isDirectory()) throw new RpcError("internal", `path is a file: ${at}`);
  }
}

/** `GetEntryInfo`: of a link its own size and time, but kind and mode of what it leads to. */
async function entryInfo(path: string) {
  const info = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    const said = `lstat ${path}: ${words(error)}`;
    if (error.code === "ENOENT") throw new RpcError("not_found", `file not found: ${said}`);
    throw new RpcError("internal", `error getting file info: ${said}`);
  });
  const link = info.isSymbolicLink() ? await realpath(path).catch(() => path) : undefined;
  const shown = link === undefined ? info : await stat(link).catch(() => undefined);
  const type = shown?.isFile() ? "FILE" : shown?.isDirectory() ? "DIRECTORY" : undefined;
  return {
    name: path.split("/").at(-1),
    ...(type === undefined ? {} : { type: `FILE_TYPE_${type}` }),
    path,
    size: String(info.size),
    ...(shown ? { mode: shown.mode & 0o777 } : {}),
    permissions: "-rw-r--r--",
    owner: "user",
    group: "user",
    modifiedTime: info.mtime.toISOString(),
    ...(link === undefined ? {} : { symlinkTarget: link }),
  };
}

async function followLink(path: string): Promise<string> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new RpcError("not_found", `path not found: lstat ${path}: ${words(error)}`);
    if (error.code === "ELOOP") {
      throw new RpcError("failed_precondition", `cyclic symlink or chain >255 links at "${path}"`);
    }
    throw new RpcError("internal", `error resolving symlink: lstat ${path}: ${words(error)}`);
  });
}

/** Bytes of all files below a folder. */
export async function usedBytes(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) sum += (await lstat(path).catch(() => ({ size: 0 }))).size;
    else if (entry.isSymbolicLink()) sum += (await readlink(path).catch(() => "")).length;
  }
  return sum;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function words(error: unknown): string {
  return GO_WORDS[codeOf(error)] ?? String(error);
}
