/** A git command that ends with words on stderr; caught in one place, see `runGit`. */
export type GitFailure = Error & { readonly exitCode: number };

export function fatal(message: string, exitCode = 128): GitFailure {
  return fail(`fatal: ${message}`, exitCode);
}

export function fail(message: string, exitCode: number): GitFailure {
  return Object.assign(new Error(message), { exitCode });
}

export function isGitFailure(thrown: unknown): thrown is GitFailure {
  return thrown instanceof Error && "exitCode" in thrown;
}
