import type { FsStat, IFileSystem } from "just-bash";

/** The file system as the git library wants it: Node's `fs.promises`, as far as it is used. */
export function createGitFiles(fs: IFileSystem) {
  return {
    promises: {
      async readFile(path: string, options?: { readonly encoding?: string } | string): Promise<Uint8Array | string> {
        const bytes = await fs.readFileBuffer(path);
        const encoding = typeof options === "string" ? options : options?.encoding;
        return encoding === "utf8" ? new TextDecoder("utf-8", { ignoreBOM: true, fatal: false }).decode(bytes) : bytes;
      },
      async writeFile(path: string, data: Uint8Array | string, options?: { readonly mode?: number }): Promise<void> {
        await fs.writeFile(path, typeof data === "string" ? new TextEncoder().encode(data) : data);
        if (options?.mode !== undefined) await fs.chmod(path, options.mode & 0o777);
      },
      unlink: (path: string) => fs.rm(path),
      rmdir: (path: string) => fs.rm(path),
      rm: (path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }) => fs.rm(path, options),
      readdir: (path: string) => fs.readdir(path),
      mkdir: (path: string) => fs.mkdir(path),
      stat: async (path: string) => toNodeStat(await fs.stat(path)),
      lstat: async (path: string) => toNodeStat(await fs.lstat(path)),
      readlink: (path: string) => fs.readlink(path),
      symlink: (target: string, path: string) => fs.symlink(target, path),
      chmod: (path: string, mode: number) => fs.chmod(path, mode),
    },
  };
}

export type GitFiles = ReturnType<typeof createGitFiles>;

const TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000 } as const;

function toNodeStat(stat: FsStat) {
  const kind = stat.isSymbolicLink ? "symlink" : stat.isDirectory ? "directory" : "file";
  const mtimeMs = stat.mtime.getTime();
  return {
    type: kind,
    mode: TYPE_BITS[kind] | stat.mode,
    size: stat.size,
    ino: stat.ino ?? 0,
    dev: stat.dev ?? 1,
    uid: 1,
    gid: 1,
    mtimeMs,
    ctimeMs: mtimeMs,
    mtime: stat.mtime,
    ctime: stat.mtime,
    isFile: () => kind === "file",
    isDirectory: () => kind === "directory",
    isSymbolicLink: () => kind === "symlink",
  };
}
