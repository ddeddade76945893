import type { FileError } from "../../contract/sandbox.ts";
import type { Failure } from "./rpc.ts";

/** What envd and the commands say (in English, `LC_ALL=C`), in the order they are looked for. */
const WORDS: readonly (readonly [RegExp, FileError["code"], string])[] = [
  [/not a directory|path is a file:/i, "not_directory", "not a directory"],
  [/is a directory/i, "is_directory", "is a directory"],
  [/already exists|file exists/i, "exists", "file already exists"],
  [/directory not empty/i, "not_empty", "directory not empty"],
  [/too many (levels of symbolic )?links|cyclic symlink/i, "loop", "too many levels of symbolic links"],
  [/permission denied|operation not permitted|read-only file system/i, "permission", "permission denied"],
  [/no space left|not enough (disk space|inodes)|quota exceeded/i, "no_space", "no space left in the sandbox"],
  [/file name too long/i, "invalid", "the path is too long"],
  [/no such file or directory|does not exist|not found/i, "not_found", "no such file or directory"],
];

/** Codes that say it without looking at the words. */
const CODES: Readonly<Record<string, FileError["code"]>> = {
  not_found: "not_found",
  http_404: "not_found",
  http_507: "no_space",
  http_413: "too_large",
  too_large: "too_large",
};

/**
 * What the contract calls a failure. envd hands most of the kernel's errors on as `internal` with the kernel's words, so
 * the words decide; the path is taken out first, for it may hold such words itself.
 */
export function fileError(failure: Failure, path: string): FileError {
  const said = failure.message.replaceAll(path, "");
  const [, code, words] = (failure.gone ? undefined : WORDS.find(([pattern]) => pattern.test(said))) ?? [];
  const known = CODES[failure.code] ?? code;
  if (known === code && code !== undefined) return { code, message: `${words}: ${path}` };
  if (known !== undefined) return { code: known, message: `${known.replaceAll("_", " ")}: ${path}` };
  return { code: "unavailable", message: `the e2b sandbox could not be used (${failure.message}): ${path}` };
}

/** Paths no sandbox takes. */
export function invalidPath(path: string): FileError | undefined {
  if (path.startsWith("/") && !path.includes("\0")) return undefined;
  return { code: "invalid", message: `an absolute path without null bytes is needed: ${path.replaceAll("\0", "\\0")}` };
}
