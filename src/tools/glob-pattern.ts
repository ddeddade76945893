import picomatch from "picomatch/posix.js";
import { err, ok, type Result } from "../contract/result.ts";

/** Matches a path relative to the directory that is searched. */
export type PathTest = (relativePath: string) => boolean;

/**
 * Compiles a glob of the model. It becomes a regular expression that backtracks, so its length and its stars are capped
 * and nested groups are left off: what remains costs little on any path.
 */
export function compileGlob(pattern: string, options: { readonly basename: boolean }): Result<PathTest, string> {
  if (pattern.length > 500) return err("the glob pattern is longer than 500 characters");
  const plain = pattern.startsWith("./") ? pattern.slice(2) : pattern;
  if (plain.startsWith("/")) return err("the glob pattern is absolute; give the directory in path instead");
  const segments = plain.split("/");
  if (segments.includes("..")) return err("the glob pattern may not contain ..; give the directory in path instead");
  if (segments.filter((segment) => segment.includes("**")).length > 3) {
    return err("the glob pattern has more than 3 double stars");
  }
  if (segments.some((segment) => (segment.match(/\*+/g) ?? []).length > 4)) {
    return err("the glob pattern has more than 4 stars between two slashes");
  }
  if ((plain.match(/\{/g) ?? []).length > 5) return err("the glob pattern has more than 5 groups of braces");
  try {
    const basename = options.basename && segments.length === 1;
    const isMatch = picomatch(plain, { dot: true, noextglob: true, ...(basename ? { basename: true } : {}) });
    return ok((path) => isMatch(path));
  } catch {
    return err("the glob pattern cannot be read");
  }
}

const QUIET = [".git", "node_modules"];

/** Leaves out what nobody looks for, unless the pattern names it. */
export function isQuiet(relativePath: string, pattern: string): boolean {
  return relativePath.split("/").some((part) => QUIET.includes(part) && !pattern.includes(part));
}
