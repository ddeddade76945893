import { statusRows } from "./changes.ts";
import { fail, fatal } from "./failure.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import { currentBranch, headOid, type Repository, readCommit, resolveCommit, short } from "./repository.ts";
import { restorePaths } from "./restore.ts";

/** What a command says; git tells about branches on stderr. */
export type Said = { readonly text?: string; readonly told?: string };

const BRANCH_OPTIONS: OptionTable = {
  ...{ "--show-current": "flag", "--list": "flag", "-l": "flag", "-a": "flag", "--all": "flag", "-v": "flag" },
  ...{ "-d": "flag", "--delete": "flag", "-D": "flag", "-m": "flag", "-M": "flag", "--no-color": "flag" },
};

/** `git branch`: list, create, `-d`, `-D`, `-m`, `--show-current`. */
export async function branch(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands } = parseOptions("branch", args, BRANCH_OPTIONS);
  const current = await currentBranch(repo);
  if (flags.has("--show-current")) return current === undefined ? "" : `${current}\n`;
  const deletes = flags.has("-d") || flags.has("--delete") || flags.has("-D");
  if (deletes) return deleteBranches(repo, operands, flags.has("-D"));
  if (flags.has("-m") || flags.has("-M")) return renameBranch(repo, operands);
  const [name, start] = operands;
  if (name !== undefined && !flags.has("--list") && !flags.has("-l")) {
    await createBranch(repo, name, start);
    return "";
  }
  const names = (await repo.git.listBranches(repo.at)).toSorted();
  const lines: string[] = [];
  const head = await headOid(repo);
  if (current === undefined && head !== undefined) lines.push(`* (HEAD detached at ${short(head)})\n`);
  for (const each of names) {
    const oid = await repo.git.resolveRef({ ...repo.at, ref: `refs/heads/${each}` });
    const more = flags.has("-v") ? ` ${short(oid)} ${(await readCommit(repo, oid)).message.split("\n")[0]}` : "";
    lines.push(`${each === current ? "*" : " "} ${each}${more}\n`);
  }
  return lines.join("");
}

async function createBranch(repo: Repository, name: string, start: string | undefined): Promise<void> {
  if ((await repo.git.listBranches(repo.at)).includes(name)) throw fatal(`a branch named '${name}' already exists`);
  if (start === undefined && (await headOid(repo)) === undefined) {
    throw fatal(`not a valid object name: '${(await currentBranch(repo)) ?? "HEAD"}'`);
  }
  const object = await resolveCommit(repo, start ?? "HEAD");
  await repo.git.branch({ ...repo.at, ref: name, object }).catch(() => {
    throw fatal(`'${name}' is not a valid branch name`);
  });
}

async function deleteBranches(repo: Repository, names: readonly string[], force: boolean): Promise<string> {
  const known = await repo.git.listBranches(repo.at);
  const head = await headOid(repo);
  const lines: string[] = [];
  for (const name of names) {
    if (!known.includes(name)) throw fail(`error: branch '${name}' not found.`, 1);
    if (name === (await currentBranch(repo))) {
      throw fail(`error: Cannot delete branch '${name}' checked out at '${repo.root}'`, 1);
    }
    const oid = await repo.git.resolveRef({ ...repo.at, ref: `refs/heads/${name}` });
    const merged =
      oid === head || (head !== undefined && (await repo.git.isDescendent({ ...repo.at, oid: head, ancestor: oid })));
    if (!force && !merged) {
      const hint = `If you are sure you want to delete it, run 'git branch -D ${name}'.`;
      throw fail(`error: The branch '${name}' is not fully merged.\n${hint}`, 1);
    }
    await repo.git.deleteBranch({ ...repo.at, ref: name });
    lines.push(`Deleted branch ${name} (was ${short(oid)}).\n`);
  }
  return lines.join("");
}

async function renameBranch(repo: Repository, names: readonly string[]): Promise<string> {
  const current = await currentBranch(repo);
  const [from, to] = names.length > 1 ? names : [current, names[0]];
  if (from === undefined || to === undefined) throw fatal("branch name required");
  if ((await headOid(repo)) === undefined) await pointHead(repo, to);
  else await repo.git.renameBranch({ ...repo.at, oldref: from, ref: to, checkout: from === current });
  return "";
}

/** Puts HEAD on a branch without touching files; the branch need not exist. */
async function pointHead(repo: Repository, name: string): Promise<void> {
  await repo.git.writeRef({ ...repo.at, ref: "HEAD", value: `refs/heads/${name}`, symbolic: true, force: true });
}

const CHECKOUT_OPTIONS: OptionTable = {
  ...{ "-b": "value", "-B": "value", "-q": "flag", "--quiet": "flag", "-f": "flag", "--force": "flag" },
};

/** `git checkout`: a branch, `-b`, a commit, or paths. */
export async function checkout(repo: Repository, args: readonly string[]): Promise<Said> {
  const { flags, values, operands, paths } = parseOptions("checkout", args, CHECKOUT_OPTIONS);
  const [created] = values.get("-b") ?? values.get("-B") ?? [];
  if (created !== undefined) return startBranch(repo, created, operands[0]);
  const [first, ...others] = operands;
  const asked = args.includes("--");
  const start = first === undefined ? undefined : await resolveCommit(repo, first).catch(() => undefined);
  if (first === undefined && !asked) throw fatal("a branch or paths are needed");
  if (first === undefined || start === undefined || asked || others.length > 0) {
    if (first !== undefined && start === undefined && asked) throw fatal(`invalid reference: ${first}`);
    const specs = [...(start === undefined ? operands : others), ...paths];
    const said = await restorePaths(repo, specs, start, true);
    // git counts only when it had to guess that these are paths.
    return asked ? {} : said;
  }
  return switchTo(repo, first, flags.has("-f") || flags.has("--force"));
}

const SWITCH_OPTIONS: OptionTable = {
  ...{ "-c": "value", "--create": "value", "-q": "flag", "--quiet": "flag", "-f": "flag", "--force": "flag" },
  ...{ "--detach": "flag" },
};

/** `git switch`: a branch, `-c`, `--detach`. */
export async function switchBranch(repo: Repository, args: readonly string[]): Promise<Said> {
  const { flags, values, operands } = parseOptions("switch", args, SWITCH_OPTIONS);
  const [created] = values.get("-c") ?? values.get("--create") ?? [];
  if (created !== undefined) return startBranch(repo, created, operands[0]);
  const [name] = operands;
  if (name === undefined) throw fatal("missing branch or commit argument");
  const known = (await repo.git.listBranches(repo.at)).includes(name);
  if (!known && !flags.has("--detach")) throw fatal(`invalid reference: ${name}`);
  return switchTo(repo, name, flags.has("-f") || flags.has("--force"));
}

async function startBranch(repo: Repository, name: string, start: string | undefined): Promise<Said> {
  const told = `Switched to a new branch '${name}'\n`;
  if ((await headOid(repo)) === undefined && start === undefined) {
    await pointHead(repo, name);
    return { told };
  }
  await createBranch(repo, name, start);
  if (start === undefined || (await resolveCommit(repo, start)) === (await headOid(repo))) await pointHead(repo, name);
  else await switchTo(repo, name, false);
  return { told };
}

async function switchTo(repo: Repository, name: string, force: boolean): Promise<Said> {
  const isBranch = (await repo.git.listBranches(repo.at)).includes(name);
  if (isBranch && name === (await currentBranch(repo)) && !force) return { told: `Already on '${name}'\n` };
  const oid = await resolveCommit(repo, name);
  if (oid === (await headOid(repo)) && isBranch && !force) await pointHead(repo, name);
  else await checkoutTree(repo, isBranch ? name : oid, force);
  if (isBranch) return { told: `Switched to branch '${name}'\n` };
  const title = (await readCommit(repo, oid)).message.split("\n")[0];
  return { told: `HEAD is now at ${short(oid)} ${title}\n` };
}

/** Brings files and index to a commit; refuses when that would lose changes. */
async function checkoutTree(repo: Repository, ref: string, force: boolean): Promise<void> {
  try {
    await repo.git.checkout({ ...repo.at, ref, force });
  } catch (error) {
    if (!(error instanceof repo.git.Errors.CheckoutConflictError)) throw error;
    const files = error.data.filepaths.map((path) => `\t${path}\n`).join("");
    const changed = (await statusRows(repo)).some(({ y }) => y !== "?");
    const kind = changed ? "Your local changes to the following files" : "The following untracked working tree files";
    const advice = "Please commit your changes before you switch branches.\nAborting";
    throw fail(`error: ${kind} would be overwritten by checkout:\n${files}${advice}`, 1);
  }
}
