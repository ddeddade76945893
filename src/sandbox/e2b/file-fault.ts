import type { FileError } from "../../contract/sandbox.ts";
import { faultOfWords } from "../../shared/shell-files.ts";
import type { Failure } from "./rpc.ts";

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
 * mostly the words decide.
 */
export function fileError(failure: Failure, path: string): FileError {
  const said = failure.gone ? undefined : faultOfWords(failure.message, path);
  const code = CODES[failure.code];
  if (said && (code === undefined || code === said.code)) return said;
  if (code !== undefined) return { code, message: `${code.replaceAll("_", " ")}: ${path}` };
  return { code: "unavailable", message: `the e2b sandbox could not be used (${failure.message}): ${path}` };
}

/** Paths no sandbox takes. */
export function invalidPath(path: string): FileError | undefined {
  if (path.startsWith("/") && !path.includes("\0")) return undefined;
  return { code: "invalid", message: `an absolute path without null bytes is needed: ${path.replaceAll("\0", "\\0")}` };
}
