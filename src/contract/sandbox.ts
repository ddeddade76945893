import type { Result } from "./result.ts";

/** Why a file operation failed; `message` is for the model and names the path. */
export type FileError = {
  readonly code:
    | "not_found"
    | "is_directory"
    | "not_directory"
    | "exists"
    | "not_empty"
    | "permission"
    | "loop"
    | "no_space"
    | "too_large"
    | "invalid"
    | "unavailable";
  readonly message: string;
};

export type FileAnswer<T> = Result<T, FileError>;

export type FileStat = {
  /** Absolute path as asked for. */
  readonly path: string;
  /** What the path itself is; links are not followed by `lstat`, followed by `stat`. */
  readonly kind: "file" | "directory" | "symlink";
  /** Bytes. */
  readonly size: number;
  readonly mode: number;
  /** Milliseconds since the epoch. */
  readonly mtimeMs: number;
};

/** The files of a workspace. Paths are absolute; `.` and `..` are resolved; links are followed unless said otherwise. */
export type SandboxFiles = {
  readFile(path: string): Promise<FileAnswer<Uint8Array>>;
  /** Creates missing parents; replaces content. */
  writeFile(path: string, content: Uint8Array): Promise<FileAnswer<void>>;
  stat(path: string): Promise<FileAnswer<FileStat>>;
  lstat(path: string): Promise<FileAnswer<FileStat>>;
  /** Entries of a directory, by name. */
  list(path: string): Promise<FileAnswer<readonly FileStat[]>>;
  /** Everything below a directory, links not followed, in path order; ends quietly after `limit` entries. */
  walk(path: string, limit: number): AsyncIterable<FileStat>;
  /** Removes a file, a link, or with `recursive` a tree. */
  remove(path: string, options: { readonly recursive: boolean }): Promise<FileAnswer<void>>;
  mkdir(path: string): Promise<FileAnswer<void>>;
  /** The path with every link resolved; a part that does not exist yet is kept as it is below its nearest real ancestor. */
  realPath(path: string): Promise<FileAnswer<string>>;
};

export type ExecRequest = {
  /** A command line for the backend's shell. */
  readonly command: string;
  /** Absolute path. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds; X-1: default 120,000, at most 600,000. */
  readonly timeoutMs: number;
  readonly stdin?: string | undefined;
};

/** What a command gives, in order; the last one is `exit`. */
export type ExecEvent =
  | { readonly type: "stdout" | "stderr"; readonly data: Uint8Array }
  | {
      readonly type: "exit";
      readonly exitCode: number;
      /** The command was stopped at its deadline. */
      readonly timedOut: boolean;
      /** Working directory the shell ended in. */
      readonly cwd: string;
    };

/**
 * One adapter for every backend. `exec` never throws but for an abort of the signal: a backend that cannot be
 * reached ends with an `exit` of code 127 after a line on stderr that says so.
 */
export type Sandbox = {
  /** Name of the backend: `virtual`, `http`, `cloudflare`. */
  readonly backend: string;
  /** Absolute path of the workspace; the first working directory. */
  readonly root: string;
  readonly files: SandboxFiles;
  exec(request: ExecRequest, signal: AbortSignal): AsyncIterable<ExecEvent>;
};
