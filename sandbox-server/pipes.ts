import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { promisify } from "node:util";

/**
 * Standard streams of commands. Node's own are sockets, and on a socket `echo > /dev/stderr` fails: commands get pipes as
 * from any shell, and their input as a file that has no name any more.
 */
export type Pipe = {
  readonly read: Socket;
  /** The command's end, a file descriptor; close it once the command has it. */
  readonly write: number;
};

const run = promisify(execFile);

/** Pipes, made in `folder`, which only the server may enter. */
export async function makePipes(folder: string, count: number): Promise<Pipe[]> {
  const paths = Array.from({ length: count }, () => `${folder}/${randomUUID()}`);
  // Through `/dev/stdout` a command opens its pipe anew, as its own user.
  await run("mkfifo", ["-m", "666", ...paths]);
  return paths.map((path) => {
    const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const write = openSync(path, constants.O_WRONLY);
    unlinkSync(path);
    return { read: new Socket({ fd: read, readable: true, writable: false }), write };
  });
}

/** A file descriptor to read `content` from; the file has no name. `mode` says who may open it anew. */
export function makeInput(folder: string, content: string, mode: 0o600 | 0o644): number {
  const path = `${folder}/${randomUUID()}`;
  writeFileSync(path, content, { mode });
  const fd = openSync(path, constants.O_RDONLY);
  unlinkSync(path);
  return fd;
}

/** Closes the server's copies of what a command has taken over. */
export function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd);
}
