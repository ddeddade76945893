import { indexEntries, treeEntries } from "./changes.ts";
import { fail, fatal } from "./failure.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import { headOid, pathFilter, type Repository, readCommit, resolveCommit, short } from "./repository.ts";

const RESTORE_OPTIONS: OptionTable = {
  ...{ "--staged": "flag", "-S": "flag", "--worktree": "flag", "-W": "flag", "--source": "value", "-s": "value" },
};

/** `git restore`: paths, from the index or `--source`, into the work tree or with `--staged` the index. */
export async function restore(repo: Repository, args: readonly string[]): Promise<{ readonly told?: string }> {
  const { flags, values, operands, paths } = parseOptions("restore", args, RESTORE_OPTIONS);
  const specs = [...operands, ...paths];
  if (specs.length === 0) throw fatal("you must specify path(s) to restore");
  const [source] = values.get("--source") ?? values.get("-s") ?? [];
  const staged = flags.has("--staged") || flags.has("-S");
  const commit = source === undefined ? undefined : await resolveCommit(repo, source);
  if (staged) await unstage(repo, specs, commit ?? (await headOid(repo)));
  if (!staged || flags.has("--worktree") || flags.has("-W")) await restorePaths(repo, specs, commit, false);
  return {};
}

/** Gives files the content they have in the index, or in a commit, then with `staged` the index too. */
export async function restorePaths(
  repo: Repository,
  specs: readonly string[],
  commit: string | undefined,
  staged: boolean,
): Promise<{ readonly told: string }> {
  const entries = commit === undefined ? await indexEntries(repo) : await treeEntries(repo, commit);
  const wanted = new Set<string>();
  for (const spec of specs) {
    const found = [...entries.keys()].filter(pathFilter(repo, [spec]));
    if (found.length === 0) throw fail(`error: pathspec '${spec}' did not match any file(s) known to git`, 1);
    for (const path of found) wanted.add(path);
  }
  for (const path of wanted) {
    const entry = entries.get(path);
    if (!entry) continue;
    await writeFile(repo, path, entry);
    if (commit !== undefined && staged) await repo.git.add({ ...repo.at, filepath: path, force: true });
  }
  const from = commit === undefined ? "the index" : short(commit);
  return { told: `Updated ${wanted.size} path${wanted.size === 1 ? "" : "s"} from ${from}\n` };
}

async function writeFile(repo: Repository, path: string, entry: { readonly oid: string; readonly mode: string }) {
  const { promises } = repo.at.fs;
  const { blob } = await repo.git.readBlob({ ...repo.at, oid: entry.oid });
  const full = `${repo.root}/${path}`;
  const parts = path.split("/").slice(0, -1);
  for (let i = 1; i <= parts.length; i++) {
    await promises.mkdir(`${repo.root}/${parts.slice(0, i).join("/")}`).catch(() => undefined);
  }
  const old = await promises.lstat(full).catch(() => undefined);
  if (old && (old.isSymbolicLink() || entry.mode === "120000")) await promises.unlink(full);
  if (entry.mode === "120000") await promises.symlink(new TextDecoder().decode(blob), full);
  else await promises.writeFile(full, blob, { mode: entry.mode === "100755" ? 0o755 : 0o644 });
}

/** Removes a file of the work tree and the directories it leaves empty. */
async function removeFile(repo: Repository, path: string): Promise<void> {
  const { promises } = repo.at.fs;
  await promises.unlink(`${repo.root}/${path}`).catch(() => undefined);
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    const folder = `${repo.root}/${path.slice(0, end)}`;
    if (folder === repo.cwd || (await promises.readdir(folder).catch(() => ["?"])).length > 0) return;
    await promises.rmdir(folder);
  }
}

/** Gives paths of the index the state of a commit; without one they are no longer tracked. */
async function unstage(repo: Repository, specs: readonly string[], commit: string | undefined): Promise<void> {
  const known = [...new Set([...(await indexEntries(repo)).keys(), ...(await treeEntries(repo, commit)).keys()])];
  for (const spec of specs) {
    if (!known.some(pathFilter(repo, [spec]))) {
      throw fail(`error: pathspec '${spec}' did not match any file(s) known to git`, 1);
    }
  }
  for (const path of known.filter(pathFilter(repo, specs))) await resetEntry(repo, path, commit);
}

async function resetEntry(repo: Repository, path: string, commit: string | undefined): Promise<void> {
  if (commit === undefined) await repo.git.remove({ ...repo.at, filepath: path });
  else await repo.git.resetIndex({ ...repo.at, filepath: path, ref: commit });
}

const RESET_OPTIONS: OptionTable = {
  ...{ "--soft": "flag", "--mixed": "flag", "--hard": "flag", "-q": "flag", "--quiet": "flag" },
};

/** `git reset`: paths, or the branch with `--soft`, `--mixed` or `--hard`. */
export async function reset(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands, paths } = parseOptions("reset", args, RESET_OPTIONS);
  const [first, ...others] = operands;
  const named = first === undefined ? undefined : await resolveCommit(repo, first).catch(() => undefined);
  const specs = [...(named === undefined ? operands : others), ...paths];
  const target = named ?? (await headOid(repo));
  if (specs.length > 0) {
    if (flags.has("--hard") || flags.has("--soft")) throw fatal("Cannot do a hard or soft reset with paths.");
    await unstage(repo, specs, target);
    return "";
  }
  if (target === undefined) {
    if (!flags.has("--soft"))
      for (const path of (await indexEntries(repo)).keys()) await resetEntry(repo, path, target);
    return "";
  }
  const before = await indexEntries(repo);
  await moveHead(repo, target);
  if (flags.has("--soft")) return "";
  const after = await treeEntries(repo, target);
  for (const path of new Set([...before.keys(), ...after.keys()])) await resetEntry(repo, path, target);
  if (!flags.has("--hard")) return "";
  for (const path of before.keys()) {
    if (!after.has(path)) await removeFile(repo, path);
  }
  for (const [path, entry] of after) await writeFile(repo, path, entry);
  return `HEAD is now at ${short(target)} ${(await readCommit(repo, target)).message.split("\n")[0]}\n`;
}

/** Moves the branch HEAD is on, or HEAD itself when it is detached. */
async function moveHead(repo: Repository, oid: string): Promise<void> {
  const name = await repo.git.currentBranch({ ...repo.at, fullname: true });
  await repo.git.writeRef({ ...repo.at, ref: name || "HEAD", value: oid, force: true });
}

const RM_OPTIONS: OptionTable = {
  ...{ "-r": "flag", "--cached": "flag", "-f": "flag", "--force": "flag", "-q": "flag", "--quiet": "flag" },
};

/** `git rm`: files out of the index and, without `--cached`, out of the work tree. */
export async function rm(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands, paths } = parseOptions("rm", args, RM_OPTIONS);
  const specs = [...operands, ...paths];
  if (specs.length === 0) throw fatal("No pathspec was given. Which files should I remove?");
  const index = await indexEntries(repo);
  const head = await treeEntries(repo, await headOid(repo));
  const removed: string[] = [];
  for (const spec of specs) {
    const found = [...index.keys()].filter(pathFilter(repo, [spec]));
    if (found.length === 0) throw fatal(`pathspec '${spec}' did not match any files`);
    const isFolder = found.some((path) => path.startsWith(`${spec.replace(/\/+$/, "")}/`)) || spec === ".";
    if (isFolder && !flags.has("-r")) throw fatal(`not removing '${spec}' recursively without -r`);
    removed.push(...found);
  }
  const force = flags.has("-f") || flags.has("--force");
  for (const path of removed) {
    const status =
      flags.has("--cached") || force ? "unmodified" : await repo.git.status({ ...repo.at, filepath: path });
    const differs = head.get(path)?.oid !== index.get(path)?.oid;
    if (!["unmodified", "*deleted"].includes(status) || (differs && !flags.has("--cached") && !force)) {
      throw fail(
        `error: the following file has local changes:\n    ${path}\n(use --cached to keep the file, or -f to force removal)`,
        1,
      );
    }
  }
  for (const path of removed) {
    await repo.git.remove({ ...repo.at, filepath: path });
    if (!flags.has("--cached")) await removeFile(repo, path);
  }
  return flags.has("-q") || flags.has("--quiet") ? "" : removed.map((path) => `rm '${path}'\n`).join("");
}
