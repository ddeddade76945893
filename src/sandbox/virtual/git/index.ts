import type { ExecResult, ResolvedCommandContext } from "just-bash";
import { latin1OfBytes } from "../bash-files.ts";
import { branch, checkout, type Said, switchBranch } from "./branches.ts";
import { diff } from "./diff.ts";
import { fail, fatal, isGitFailure } from "./failure.ts";
import { createGitFiles } from "./git-files.ts";
import { loadGit } from "./load.ts";
import { log, show } from "./log.ts";
import { REAL_GIT } from "./options.ts";
import { config, init, lsFiles, revParse } from "./plumbing.ts";
import type { Repository } from "./repository.ts";
import { reset, restore, rm } from "./restore.ts";
import { add, commit } from "./stage.ts";
import { status } from "./status.ts";

type Answer = string | Uint8Array | (Said & { readonly exitCode?: number });
type SubCommand = (repo: Repository, args: readonly string[]) => Promise<Answer>;

const COMMANDS: Readonly<Record<string, SubCommand>> = {
  ...{ add, branch, checkout: quietly(checkout), commit, config, diff, log, reset, restore, rm, show, status },
  ...{ switch: quietly(switchBranch), "rev-parse": revParse, "ls-files": lsFiles },
};
/** `-q` keeps what is told on stderr back, but for failures. */
function quietly(run: (repo: Repository, args: readonly string[]) => Promise<Said>): SubCommand {
  return async (repo, args) => {
    const said = await run(repo, args);
    return args.includes("-q") || args.includes("--quiet") ? { text: said.text ?? "" } : said;
  };
}

const NAMES = ["init", ...Object.keys(COMMANDS)].toSorted().join(", ");
const NETWORKED: ReadonlySet<string> = new Set(["clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule"]);

/** `git` over the workspace's files (X-2): local repositories, no hooks, no network. */
export async function runGit(args: readonly string[], context: ResolvedCommandContext): Promise<ExecResult> {
  try {
    return result(await dispatch(args, context));
  } catch (error) {
    if (context.signal?.aborted) throw error;
    const words = error instanceof Error ? error.message : "unknown failure";
    if (isGitFailure(error)) return { stdout: "", stderr: words === "" ? "" : `${words}\n`, exitCode: error.exitCode };
    return { stdout: "", stderr: `fatal: ${words}\n`, exitCode: 128 };
  }
}

async function dispatch(args: readonly string[], context: ResolvedCommandContext): Promise<Answer> {
  const { cwd, rest } = globalOptions(args, context.cwd);
  const [name, ...own] = rest;
  if (name === "--version" || name === "version") return "git version 2.39.5 (virtual)\n";
  if (name === undefined || name === "help" || name === "--help") {
    return { text: `usage: git <command>; known here: ${NAMES}. ${REAL_GIT}\n`, exitCode: name === undefined ? 1 : 0 };
  }
  if (NETWORKED.has(name)) {
    throw fatal(`git ${name}: this git works on local files only, it has no network. ${REAL_GIT}`);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (name !== "init" && !command) {
    throw fail(`git: '${name}' is not a git command here. Known: ${NAMES}. ${REAL_GIT}`, 1);
  }
  const root = command && (await findRoot(cwd, context));
  const fs = createGitFiles(context.fs);
  const git = await loadGit();
  if (!command || root === undefined) return init({ git, at: { fs, dir: cwd, cache: {} }, cwd }, own);
  return command({ git, at: { fs, dir: root, cache: {} }, root, cwd, env: context.env }, own);
}

/** The nearest directory with a `.git`; looked for before the library is loaded, which takes a while. */
async function findRoot(cwd: string, { fs }: ResolvedCommandContext): Promise<string> {
  for (let at = cwd; ; at = at.slice(0, at.lastIndexOf("/"))) {
    if (await fs.exists(`${at}/.git/HEAD`)) return at === "" ? "/" : at;
    if (at === "" || at === "/") break;
  }
  throw fatal("not a git repository (or any of the parent directories): .git");
}

/** `-C`, and what changes nothing here: `--no-pager`, `-c`. */
function globalOptions(
  args: readonly string[],
  start: string,
): { readonly cwd: string; readonly rest: readonly string[] } {
  const rest = [...args];
  let cwd = start;
  for (;;) {
    if (rest[0] === "--no-pager" || rest[0] === "-P") rest.shift();
    else if (rest[0] === "-c") rest.splice(0, 2);
    else if (rest[0] === "-C" && rest[1] !== undefined) {
      const [, folder] = rest.splice(0, 2);
      cwd = new URL(`file://${folder?.startsWith("/") ? "" : `${cwd}/`}${folder}`).pathname.replace(/(.)\/+$/, "$1");
      cwd = decodeURIComponent(cwd);
    } else if (rest[0]?.startsWith("-") && !["--version", "--help"].includes(rest[0])) {
      throw fail(`unknown option: ${rest[0]}; known here: -C <path>, -c, --no-pager, --version. ${REAL_GIT}`, 129);
    } else return { cwd, rest };
  }
}

function result(answer: Answer): ExecResult {
  if (typeof answer === "string") return { stdout: answer, stderr: "", exitCode: 0 };
  if (answer instanceof Uint8Array) {
    return { stdout: latin1OfBytes(answer), stdoutKind: "bytes", stderr: "", exitCode: 0 };
  }
  return { stdout: answer.text ?? "", stderr: answer.told ?? "", exitCode: answer.exitCode ?? 0 };
}
