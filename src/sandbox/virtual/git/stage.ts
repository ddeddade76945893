import { compareEntries, indexEntries, statusRows, treeEntries } from "./changes.ts";
import { fail, fatal } from "./failure.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import { countLines, summaryLine } from "./patch.ts";
import { currentBranch, headOid, pathFilter, type Repository, readCommit, short } from "./repository.ts";
import { statusForCommit } from "./status.ts";

const ADD_OPTIONS: OptionTable = {
  ...{ "-A": "flag", "--all": "flag", "-u": "flag", "--update": "flag", "-f": "flag", "--force": "flag", "-v": "flag" },
};

/** `git add`: paths, `.`, `-A`, `-u`. */
export async function add(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands, paths } = parseOptions("add", args, ADD_OPTIONS);
  const specs = [...operands, ...paths];
  const all = flags.has("-A") || flags.has("--all") || flags.has("-u") || flags.has("--update");
  if (specs.length === 0 && !all) {
    throw fail("Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?", 0);
  }
  const force = flags.has("-f") || flags.has("--force");
  for (const spec of specs) await checkSpec(repo, spec, force);
  if (force && specs.length > 0) {
    const filepath = specs.map((spec) => relative(repo, spec));
    await repo.git.add({ ...repo.at, filepath, force: true });
  }
  await stageAll(repo, specs, flags.has("-u") || flags.has("--update"));
  return "";
}

/** Every path argument must stand for something, and not for what is ignored only. */
async function checkSpec(repo: Repository, spec: string, force: boolean): Promise<void> {
  const filter = pathFilter(repo, [spec]);
  const full = spec.startsWith("/") ? spec : `${repo.cwd}/${spec}`;
  const stat = await repo.at.fs.promises.lstat(full).catch(() => undefined);
  if (stat && !force && !stat.isDirectory()) {
    const path = relative(repo, spec);
    const tracked = (await indexEntries(repo)).has(path);
    if (!tracked && (await repo.git.isIgnored({ ...repo.at, filepath: path }))) {
      const hint = "hint: Use -f if you really want to add them.";
      throw fail(`The following paths are ignored by one of your .gitignore files:\n${path}\n${hint}`, 1);
    }
  }
  if (stat || [...(await indexEntries(repo)).keys()].some(filter)) return;
  if (/[*?[]/.test(spec) && (await statusRows(repo, filter)).length > 0) return;
  throw fatal(`pathspec '${spec}' did not match any files`);
}

function relative(repo: Repository, spec: string): string {
  const full = spec.startsWith("/") ? spec : `${repo.cwd}/${spec}`;
  return (
    full
      .slice(repo.root.length + 1)
      .replace(/^(\.\/)+/, "")
      .replace(/\/\.?$/, "") || "."
  );
}

/** Puts the work tree's state of the paths into the index. */
export async function stageAll(repo: Repository, specs: readonly string[], trackedOnly: boolean): Promise<void> {
  for (const { path, y } of await statusRows(repo, pathFilter(repo, specs))) {
    if (y === "D") await repo.git.remove({ ...repo.at, filepath: path });
    else if (y === "M" || (y === "?" && !trackedOnly)) await repo.git.add({ ...repo.at, filepath: path, force: true });
  }
}

const COMMIT_OPTIONS: OptionTable = {
  ...{ "-m": "value", "--message": "value", "-a": "flag", "--all": "flag", "-q": "flag", "--quiet": "flag" },
  ...{ "--allow-empty": "flag", "--amend": "flag", "--no-edit": "flag", "--author": "value", "--no-verify": "flag" },
  ...{ "-n": "flag", "-F": "value" },
};

/** `git commit -m`, `-am`, `--amend`, `--allow-empty`. There are no hooks to run. */
export async function commit(repo: Repository, args: readonly string[]): Promise<{ text: string; exitCode: number }> {
  const { flags, values, operands, paths } = parseOptions("commit", args, COMMIT_OPTIONS);
  if (operands.length + paths.length > 0) throw fatal("paths with commit are not known here; use git add first");
  if (flags.has("-a") || flags.has("--all")) await stageAll(repo, [], true);
  const head = await headOid(repo);
  const amend = flags.has("--amend");
  if (amend && head === undefined) throw fatal("You have nothing to amend.");
  const before = amend && head !== undefined ? await readCommit(repo, head) : undefined;
  const base = before ? before.parent[0] : head;
  const index = await indexEntries(repo);
  const changes = await compareEntries(repo, await treeEntries(repo, base), index, () => true);
  if (changes.length === 0 && !amend && !flags.has("--allow-empty")) {
    return { text: await statusForCommit(repo), exitCode: 1 };
  }
  const given = [...(values.get("-m") ?? []), ...(values.get("--message") ?? [])];
  for (const file of values.get("-F") ?? []) given.push(await messageFile(repo, file));
  const message = given.length > 0 ? given.join("\n\n") : before?.message;
  if (message === undefined) throw fatal("no editor here; give the message with -m");
  if (message.trim() === "") throw fail("Aborting commit due to empty commit message.", 1);
  const committer = await identity(repo, "COMMITTER");
  const author = authorOf(values.get("--author")?.at(-1)) ?? before?.author ?? (await identity(repo, "AUTHOR"));
  const oid = await repo.git.commit({ ...repo.at, message: message.trimEnd(), author, committer, amend });
  if (flags.has("-q") || flags.has("--quiet")) return { text: "", exitCode: 0 };
  const branch = (await currentBranch(repo)) ?? "detached HEAD";
  const root = base === undefined ? " (root-commit)" : "";
  const modes = changes.flatMap(({ kind, path, before: old, after }) => {
    if (kind === "A") return [` create mode ${after?.mode} ${path}\n`];
    return kind === "D" ? [` delete mode ${old?.mode} ${path}\n`] : [];
  });
  const title = `[${branch}${root} ${short(oid)}] ${message.trim().split("\n")[0]}\n`;
  return { text: title + summaryLine(changes.map(countLines)) + modes.join(""), exitCode: 0 };
}

async function messageFile(repo: Repository, file: string): Promise<string> {
  const path = file.startsWith("/") ? file : `${repo.cwd}/${file}`;
  const text = await repo.at.fs.promises.readFile(path, "utf8").catch(() => undefined);
  if (typeof text !== "string") throw fatal(`could not read log file '${file}': No such file or directory`);
  return text;
}

type Identity = { readonly name: string; readonly email: string };

/** Who commits: environment, configuration of the repository, or the agent. */
async function identity(repo: Repository, role: "AUTHOR" | "COMMITTER"): Promise<Identity> {
  const config = (path: string) => repo.git.getConfig({ ...repo.at, path }).then(String, () => "undefined");
  const known = (value: string | undefined) => (value === undefined || value === "undefined" ? undefined : value);
  const name = repo.env.get(`GIT_${role}_NAME`) ?? known(await config("user.name"));
  const email = repo.env.get(`GIT_${role}_EMAIL`) ?? known(await config("user.email"));
  return { name: name ?? "Flyto Agent", email: email ?? "agent@flyto.local" };
}

function authorOf(text: string | undefined): Identity | undefined {
  if (text === undefined) return undefined;
  const [, name, email] = /^(.*?)\s*<([^>]*)>$/.exec(text) ?? [];
  if (name === undefined || email === undefined) throw fatal(`--author '${text}' is not 'Name <email>'`);
  return { name, email };
}
