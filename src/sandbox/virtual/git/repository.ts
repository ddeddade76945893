import picomatch from "picomatch";
import { fatal } from "./failure.ts";
import type { GitFiles } from "./git-files.ts";

export type GitLibrary = typeof import("isomorphic-git");

/** One repository, for one command. */
export type Repository = {
  readonly git: GitLibrary;
  /** What every call of the library takes. */
  readonly at: { readonly fs: GitFiles; readonly dir: string; readonly cache: object };
  /** Absolute path of the work tree. */
  readonly root: string;
  /** Absolute path the command runs in. */
  readonly cwd: string;
  readonly env: ReadonlyMap<string, string>;
};

/** Name of the branch HEAD is on, also before its first commit; undefined when HEAD is detached. */
export async function currentBranch(repo: Repository): Promise<string | undefined> {
  return (await repo.git.currentBranch({ ...repo.at, fullname: false })) || undefined;
}

/** The commit HEAD is at; undefined before the first one. */
export async function headOid(repo: Repository): Promise<string | undefined> {
  return repo.git.resolveRef({ ...repo.at, ref: "HEAD" }).catch(() => undefined);
}

/** The commit a revision names: a branch, a tag, `HEAD`, an object name or its beginning, with `~n` and `^` behind. */
export async function resolveCommit(repo: Repository, revision: string): Promise<string> {
  const [, base = "", steps = ""] = /^(.*?)((?:~\d*|\^)*)$/.exec(revision) ?? [];
  let oid = await resolveName(repo, base === "@" || base === "" ? "HEAD" : base);
  for (const step of steps.match(/~\d*|\^/g) ?? []) {
    const count = step === "^" || step === "~" ? 1 : Number(step.slice(1));
    for (let i = 0; i < count && oid !== undefined; i++) oid = (await readCommit(repo, oid)).parent[0];
  }
  if (oid === undefined) {
    throw fatal(`ambiguous argument '${revision}': unknown revision or path not in the working tree.`);
  }
  return oid;
}

async function resolveName(repo: Repository, name: string): Promise<string | undefined> {
  const ref = await repo.git.resolveRef({ ...repo.at, ref: name }).catch(() => undefined);
  if (ref !== undefined) return ref;
  if (!/^[0-9a-f]{4,40}$/.test(name)) return undefined;
  return repo.git.expandOid({ ...repo.at, oid: name }).catch(() => undefined);
}

export async function readCommit(repo: Repository, oid: string) {
  return (await repo.git.readCommit({ ...repo.at, oid })).commit;
}

export type PathFilter = (path: string) => boolean;

/** Turns path arguments into a test of paths in the repository; no arguments let everything through. */
export function pathFilter(repo: Repository, specs: readonly string[]): PathFilter {
  const tests = specs.map((spec): PathFilter => {
    const path = insidePath(repo, spec);
    if (path === "") return () => true;
    const pattern = /[*?[]/.test(path) ? picomatch(path, { dot: true, bash: true }) : undefined;
    return (each) => each === path || each.startsWith(`${path}/`) || (pattern?.(each) ?? false);
  });
  return (path) => tests.length === 0 || tests.some((test) => test(path));
}

/** The path of an argument in the repository; "" is its root. */
export function insidePath(repo: Repository, spec: string): string {
  const parts: string[] = [];
  for (const part of (spec.startsWith("/") ? spec : `${repo.cwd}/${spec}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  const path = `/${parts.join("/")}`;
  const root = repo.root === "/" ? "" : repo.root;
  if (path !== repo.root && !path.startsWith(`${root}/`)) {
    throw fatal(`${spec}: '${spec}' is outside repository at '${repo.root}'`);
  }
  return path.slice(root.length + 1);
}

/** A path of the repository as seen from the working directory. */
export function shownPath(repo: Repository, path: string): string {
  const from = repo.cwd.slice(repo.root.length).split("/").filter(Boolean);
  const to = path.split("/");
  let same = 0;
  while (same < from.length && same < to.length - 1 && from[same] === to[same]) same++;
  return [...from.slice(same).map(() => ".."), ...to.slice(same)].join("/");
}

export const short = (oid: string): string => oid.slice(0, 7);
