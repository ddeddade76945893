import type { FileError } from "../../contract/sandbox.ts";

type Code = FileError["code"];

/** The kernel's name and words for each failure: the interpreter's commands look for them in the message. */
const WORDS: Readonly<Record<Code, readonly [errno: string, text: string]>> = {
  not_found: ["ENOENT", "no such file or directory"],
  is_directory: ["EISDIR", "is a directory"],
  not_directory: ["ENOTDIR", "not a directory"],
  exists: ["EEXIST", "file already exists"],
  not_empty: ["ENOTEMPTY", "directory not empty"],
  permission: ["EACCES", "permission denied"],
  loop: ["ELOOP", "too many levels of symbolic links"],
  no_space: ["ENOSPC", "no space left in the workspace"],
  too_large: ["EFBIG", "file too large"],
  invalid: ["EINVAL", "invalid argument"],
  unavailable: ["EIO", "input/output error"],
};

/** An Error that also carries what the contract calls it; thrown so that a transaction around it rolls back. */
export type FileFault = Error & { readonly code: string; readonly fault: FileError };

/** Makes the error of a failed file operation; `detail` replaces the usual words. */
export function fault(code: Code, path: string, detail?: string): FileFault {
  const [errno, text] = WORDS[code];
  const words = detail ?? text;
  const message = `${words}: ${path}`;
  return Object.assign(new Error(`${errno}: ${words}, '${path}'`), { code: errno, fault: { code, message } });
}

/** What the contract calls a thrown value; anything that is no file fault means the store itself failed. */
export function fileError(thrown: unknown, path: string): FileError {
  if (thrown instanceof Error && "fault" in thrown) return (thrown as FileFault).fault;
  return { code: "unavailable", message: `the workspace could not be used: ${path}` };
}
