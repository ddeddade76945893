import { err, ok } from "../../contract/result.ts";
import type { FileAnswer, FileStat, SandboxFiles } from "../../contract/sandbox.ts";
import {
  type FILE_ERROR_STATUS,
  fromWireStat,
  MAX_WALK_ENTRIES,
  toFileCode,
  WireEntries,
  WirePath,
  WireStat,
} from "../../contract/sandbox-protocol.ts";
import { type Call, CallFault, type Connection, readBytes, readText } from "./connection.ts";
import { type Deadline, type Delay, startDeadline } from "./deadline.ts";

/** One file passes through memory whole, and an isolate has 128 MB for all its sessions. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** Entries of a folder or a tree as JSON. */
const MAX_ENTRIES_BYTES = 32 * 1024 * 1024;

/** The contract's files over HTTP. Each call ends within `timeoutMs`, with `unavailable` when there was no answer. */
export function createRemoteFiles(connection: Connection, timeoutMs: number, delay: Delay): SandboxFiles {
  const call = async <T>(path: string, work: (deadline: Deadline) => Promise<T>): Promise<FileAnswer<T>> => {
    const deadline = startDeadline(timeoutMs, delay);
    try {
      checkPath(path);
      return ok(await work(deadline));
    } catch (error) {
      return err(toFileError(error, path));
    } finally {
      deadline.end();
    }
  };
  const nothing = async (request: Call, deadline: Deadline): Promise<void> => {
    const answer = await connection.send(request, deadline);
    void answer.body?.cancel().catch(() => {});
  };
  const json = async (operation: string, deadline: Deadline): Promise<unknown> => {
    const answer = await connection.send({ method: "GET", path: `/${operation}` }, deadline);
    return JSON.parse(await readText(answer, deadline, MAX_ENTRIES_BYTES));
  };
  const entries = async (operation: string, deadline: Deadline): Promise<readonly FileStat[]> =>
    WireEntries.parse(await json(operation, deadline)).entries.map(fromWireStat);
  const real = async (path: string, deadline: Deadline): Promise<string> =>
    WirePath.parse(await json(`realpath?path=${encodeURIComponent(path)}`, deadline)).path;
  /** A URL's own dots never reach the server: what has some is first told without. */
  const fileUrl = async (path: string, deadline: Deadline): Promise<string> => {
    const parts = path.split("/").filter((part) => part !== "" && part !== ".");
    if (!parts.includes("..")) return toUrl(parts);
    const last = parts.at(-1) === ".." ? undefined : parts.pop();
    const folder = (await real(`/${parts.join("/")}`, deadline)).split("/").filter(Boolean);
    return toUrl(last === undefined ? folder : [...folder, last]);
  };
  const stat = (path: string, follow: boolean) =>
    call(path, async (deadline) =>
      fromWireStat(WireStat.parse(await json(`stat?follow=${follow}&path=${encodeURIComponent(path)}`, deadline))),
    );
  return {
    readFile: (path) =>
      call(path, async (deadline) => {
        const answer = await connection.send({ method: "GET", path: await fileUrl(path, deadline) }, deadline);
        return await readBytes(answer, deadline, MAX_FILE_BYTES);
      }),
    writeFile: (path, body) =>
      call(path, async (deadline) => {
        if (body.length > MAX_FILE_BYTES) {
          throw new CallFault("too_large", `file too large: at most ${MAX_FILE_BYTES} bytes: ${path}`);
        }
        await nothing({ method: "PUT", path: await fileUrl(path, deadline), body }, deadline);
      }),
    stat: (path) => stat(path, true),
    lstat: (path) => stat(path, false),
    list: (path) => call(path, (deadline) => entries(`list?path=${encodeURIComponent(path)}`, deadline)),
    async *walk(path, limit) {
      const most = Math.min(limit, MAX_WALK_ENTRIES);
      const found = await call(path, (deadline) =>
        entries(`walk?limit=${most}&path=${encodeURIComponent(path)}`, deadline),
      );
      if (found.ok) return yield* found.value.slice(0, most);
      // A folder that is missing has nothing below it; a server that is away must not look like an empty folder.
      if (found.error.code === "unavailable") throw new Error(found.error.message);
    },
    remove: (path, { recursive }) =>
      call(path, async (deadline) =>
        nothing({ method: "DELETE", path: `${await fileUrl(path, deadline)}?recursive=${recursive}` }, deadline),
      ),
    mkdir: (path) =>
      call(path, (deadline) => nothing({ method: "POST", path: "/mkdir", body: JSON.stringify({ path }) }, deadline)),
    realPath: (path) => call(path, (deadline) => real(path, deadline)),
  };
}

function toUrl(parts: readonly string[]): string {
  return `/file/${parts.map((part) => encodeURIComponent(part.toWellFormed())).join("/")}`;
}

function checkPath(path: string): void {
  if (!path.startsWith("/")) throw new CallFault("invalid", `path is not absolute: ${path}`);
  if (path.includes("\0")) throw new CallFault("invalid", `path has a null byte: ${path.replaceAll("\0", "\\0")}`);
}

function toFileError(error: unknown, path: string): { code: keyof typeof FILE_ERROR_STATUS; message: string } {
  if (error instanceof CallFault) {
    const code = toFileCode(error.code);
    return { code, message: code === "unavailable" ? `${error.message}: ${path}` : error.message };
  }
  return { code: "unavailable", message: `the sandbox server could not be reached: ${path}` };
}
