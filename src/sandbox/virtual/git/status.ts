import { indexEntries, type Row, statusRows } from "./changes.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import { currentBranch, headOid, pathFilter, type Repository, short, shownPath } from "./repository.ts";

const OPTIONS: OptionTable = {
  ...{ "-s": "flag", "--short": "flag", "--porcelain": "flag", "-b": "flag", "--branch": "flag" },
  ...{ "--long": "flag", "-u": "flag", "-uall": "flag", "--untracked-files": "flag" },
};
/** They say what is so anyway. */
const SAME: Readonly<Record<string, string>> = { "--porcelain=v1": "--porcelain", "--untracked-files=all": "-uall" };

/** `git status`: long, `-s`/`--short`, `--porcelain`, with `-b` the branch. */
export async function status(repo: Repository, args: readonly string[]): Promise<string> {
  const plain = args.map((arg) => SAME[arg] ?? arg);
  const { flags, operands, paths } = parseOptions("status", plain, OPTIONS);
  const found = await statusRows(repo, pathFilter(repo, [...operands, ...paths]));
  const rows = ["-u", "-uall", "--untracked-files"].some((flag) => flags.has(flag))
    ? found
    : await foldUntracked(repo, found);
  const porcelain = flags.has("--porcelain");
  if (!porcelain && !flags.has("-s") && !flags.has("--short")) return longStatus(repo, rows, "No commits yet");
  const lines = rows.map((row) => `${codes(row)} ${quoted(porcelain ? row.path : shown(repo, row.path))}\n`);
  const header = flags.has("-b") || flags.has("--branch") ? `## ${await branchHeader(repo)}\n` : "";
  return header + lines.join("");
}

/** What `git commit` says when there is nothing to commit. */
export async function statusForCommit(repo: Repository): Promise<string> {
  return longStatus(repo, await foldUntracked(repo, await statusRows(repo)), "Initial commit");
}

/** Directories without a tracked file are one entry, and untracked files come last, as git has it. */
async function foldUntracked(repo: Repository, rows: readonly Row[]): Promise<readonly Row[]> {
  const tracked = new Set<string>();
  for (const path of (await indexEntries(repo)).keys()) {
    const parts = path.split("/");
    for (let i = 1; i < parts.length; i++) tracked.add(parts.slice(0, i).join("/"));
  }
  const untracked = new Set<string>();
  for (const { path, y } of rows) {
    if (y !== "?") continue;
    const parts = path.split("/");
    const depth = parts.findIndex((_, i) => i < parts.length - 1 && !tracked.has(parts.slice(0, i + 1).join("/")));
    untracked.add(depth < 0 ? path : `${parts.slice(0, depth + 1).join("/")}/`);
  }
  const known = rows.filter((row) => row.y !== "?");
  return [...known, ...[...untracked].toSorted().map((path): Row => ({ path, x: " ", y: "?" }))];
}

function codes({ x, y }: Row): string {
  return y === "?" ? "??" : `${x}${y}`;
}

/** The name in quotes when it has a space or what a terminal would trip over. */
function quoted(path: string): string {
  return /[\s"\\]/.test(path) ? JSON.stringify(path) : path;
}

function shown(repo: Repository, path: string): string {
  return path.endsWith("/") ? `${shownPath(repo, path.slice(0, -1))}/` : shownPath(repo, path);
}

async function branchHeader(repo: Repository): Promise<string> {
  const branch = await currentBranch(repo);
  if ((await headOid(repo)) === undefined) return `No commits yet on ${branch ?? "HEAD"}`;
  return branch ?? "HEAD (no branch)";
}

const WORDS = { A: "new file:   ", M: "modified:   ", D: "deleted:    ", " ": "", "?": "" } as const;

async function longStatus(repo: Repository, rows: readonly Row[], fresh: string): Promise<string> {
  const head = await headOid(repo);
  const branch = await currentBranch(repo);
  const lines = [branch === undefined ? `HEAD detached at ${short(head ?? "")}` : `On branch ${branch}`];
  if (head === undefined) lines.push("", fresh, "");
  const section = (title: string, hints: readonly string[], entries: readonly string[]) => {
    if (entries.length === 0) return;
    lines.push(title, ...hints.map((hint) => `  (${hint})`), ...entries.map((entry) => `\t${entry}`), "");
  };
  const staged = rows.filter((row) => row.x !== " ");
  const changed = rows.filter((row) => row.y === "M" || row.y === "D");
  const untracked = rows.filter((row) => row.y === "?");
  section(
    "Changes to be committed:",
    [
      head === undefined
        ? 'use "git rm --cached <file>..." to unstage'
        : 'use "git restore --staged <file>..." to unstage',
    ],
    staged.map((row) => `${WORDS[row.x]}${shown(repo, row.path)}`),
  );
  const add = changed.some((row) => row.y === "D") ? "git add/rm" : "git add";
  section(
    "Changes not staged for commit:",
    [
      `use "${add} <file>..." to update what will be committed`,
      'use "git restore <file>..." to discard changes in working directory',
    ],
    changed.map((row) => `${WORDS[row.y]}${shown(repo, row.path)}`),
  );
  section(
    "Untracked files:",
    ['use "git add <file>..." to include in what will be committed'],
    untracked.map((row) => shown(repo, row.path)),
  );
  if (staged.length === 0) lines.push(closing(changed.length > 0, untracked.length > 0, head !== undefined));
  return `${lines.join("\n")}\n`;
}

/** What git says when a commit now would be empty. */
function closing(changed: boolean, untracked: boolean, hasCommits: boolean): string {
  if (changed) return 'no changes added to commit (use "git add" and/or "git commit -a")';
  if (untracked) return 'nothing added to commit but untracked files present (use "git add" to track)';
  if (hasCommits) return "nothing to commit, working tree clean";
  return 'nothing to commit (create/copy files and use "git add" to track)';
}
