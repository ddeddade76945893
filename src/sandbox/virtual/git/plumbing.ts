import { indexEntries } from "./changes.ts";
import { fail, fatal } from "./failure.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import { currentBranch, pathFilter, type Repository, resolveCommit, short, shownPath } from "./repository.ts";

const REV_PARSE_OPTIONS: OptionTable = {
  ...{ "--abbrev-ref": "flag", "--show-toplevel": "flag", "--git-dir": "flag", "--is-inside-work-tree": "flag" },
  ...{ "--short": "flag", "--verify": "flag", "-q": "flag", "--show-prefix": "flag", "--absolute-git-dir": "flag" },
};

/** `git rev-parse`: `--show-toplevel`, `--abbrev-ref`, `--short`, `--git-dir`, revisions. */
export async function revParse(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands } = parseOptions("rev-parse", args, REV_PARSE_OPTIONS);
  const lines: string[] = [];
  if (flags.has("--show-toplevel")) lines.push(repo.root);
  if (flags.has("--is-inside-work-tree")) lines.push("true");
  if (flags.has("--git-dir")) lines.push(repo.cwd === repo.root ? ".git" : `${repo.root}/.git`);
  if (flags.has("--absolute-git-dir")) lines.push(`${repo.root}/.git`);
  if (flags.has("--show-prefix")) {
    const prefix = repo.cwd.slice(repo.root.length + 1);
    lines.push(prefix === "" ? "" : `${prefix}/`);
  }
  for (const revision of operands) {
    const oid = await resolveCommit(repo, revision).catch((error: unknown) => {
      throw flags.has("-q") ? fail("", 1) : error;
    });
    if (!flags.has("--abbrev-ref")) lines.push(flags.has("--short") ? short(oid) : oid);
    else lines.push(revision === "HEAD" ? ((await currentBranch(repo)) ?? "HEAD") : revision);
  }
  return lines.map((line) => `${line}\n`).join("");
}

const CONFIG_OPTIONS: OptionTable = {
  ...{ "--get": "flag", "--unset": "flag", "--list": "flag", "-l": "flag", "--local": "flag", "--global": "flag" },
  ...{ "--add": "flag" },
};

/** `git config`: get, set, `--unset`, `--list`. There is one configuration, the repository's; `--global` means it too. */
export async function config(repo: Repository, args: readonly string[]): Promise<string> {
  const { flags, operands } = parseOptions("config", args, CONFIG_OPTIONS);
  if (flags.has("--list") || flags.has("-l")) return listConfig(repo);
  const [path, value, ...more] = operands;
  if (path === undefined || more.length > 0) throw fail("usage: git config <name> [<value>]", 129);
  if (!/^[A-Za-z0-9-]+\.(.+\.)?[A-Za-z][A-Za-z0-9-]*$/.test(path)) throw fail(`error: invalid key: ${path}`, 1);
  if (flags.has("--unset")) {
    await repo.git.setConfig({ ...repo.at, path, value: undefined });
    return "";
  }
  if (value !== undefined) {
    await repo.git.setConfig({ ...repo.at, path, value, append: flags.has("--add") });
    return "";
  }
  const found: unknown = await repo.git.getConfig({ ...repo.at, path });
  if (found === undefined) throw fail("", 1);
  return `${String(found)}\n`;
}

async function listConfig(repo: Repository): Promise<string> {
  const text = await repo.at.fs.promises.readFile(`${repo.root}/.git/config`, "utf8");
  let section = "";
  const lines: string[] = [];
  for (const line of String(text).split("\n")) {
    const [, name, sub] = /^\s*\[([\w.-]+)(?:\s+"(.*)")?\]/.exec(line) ?? [];
    const [, key, value] = /^\s*([\w-]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) section = sub === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${sub}`;
    else if (key !== undefined) lines.push(`${section}.${key.toLowerCase()}=${value}\n`);
  }
  return lines.join("");
}

/** `git ls-files`: what the index holds below the working directory. */
export async function lsFiles(repo: Repository, args: readonly string[]): Promise<string> {
  const { operands, paths } = parseOptions("ls-files", args, { "--cached": "flag", "-c": "flag" });
  const specs = [...operands, ...paths];
  const filter = pathFilter(repo, specs.length === 0 ? ["."] : specs);
  const found = [...(await indexEntries(repo)).keys()].filter(filter).toSorted();
  return found.map((path) => `${shownPath(repo, path)}\n`).join("");
}

const INIT_OPTIONS: OptionTable = {
  ...{ "-b": "value", "--initial-branch": "value", "-q": "flag", "--quiet": "flag" },
};

/** `git init`: in the working directory or a new one. Gives what it says. */
export async function init(
  { git, at, cwd }: Pick<Repository, "git" | "at" | "cwd">,
  args: readonly string[],
): Promise<string> {
  const { flags, values, operands } = parseOptions("init", args, INIT_OPTIONS);
  const [folder] = operands;
  const dir = folder === undefined || folder === "." ? cwd : folder.startsWith("/") ? folder : `${cwd}/${folder}`;
  const known = await at.fs.promises.stat(`${dir}/.git/HEAD`).then(
    () => true,
    () => false,
  );
  const [defaultBranch = "main"] = values.get("-b") ?? values.get("--initial-branch") ?? [];
  if (!/^[\w./-]+$/.test(defaultBranch)) throw fatal(`invalid initial branch name: '${defaultBranch}'`);
  if (!known) await git.init({ fs: at.fs, dir, defaultBranch });
  if (flags.has("-q") || flags.has("--quiet")) return "";
  return `${known ? "Reinitialized existing" : "Initialized empty"} Git repository in ${dir}/.git/\n`;
}
