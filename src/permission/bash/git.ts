import { isCredentialPath } from "../../shared/protected-names.ts";
import type { Arg, Scope } from "./model.ts";
import { type OptionSpec, parseOptions } from "./options.ts";
import { pathProblem } from "./scope.ts";
import { literalText } from "./words.ts";

type GitCommand = OptionSpec & {
  /** Shows what files hold, so that a credential file among the operands is not for it. */
  readonly shows?: boolean;
  /** The word right behind the name must match: other words there are subcommands, or mean another one. */
  readonly starts?: RegExp;
  /** Operands that would change something, by their number or their words. */
  readonly refuse?: (operands: readonly Arg[], options: ReadonlyMap<string, Arg | undefined>) => boolean;
};

const PRETTY =
  "oneline pretty? format= abbrev? abbrev-commit no-abbrev-commit no-abbrev encoding= date= relative-date parents children left-right graph no-graph decorate? no-decorate decorate-refs= decorate-refs-exclude= source notes? no-notes color? no-color no-patch patch unified? raw patch-with-raw stat? numstat shortstat dirstat? summary name-only name-status minimal patience histogram diff-algorithm= word-diff? word-diff-regex= color-words? color-moved? no-renames find-renames? find-copies? check full-index binary diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? submodule? src-prefix= dst-prefix= no-prefix ita-invisible-in-index compact-summary indent-heuristic anchored= stat-width= stat-count= z";
const WALK =
  "max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges min-parents= max-parents= first-parent not all branches? tags? remotes? glob= exclude= reflog merge cherry-pick cherry-mark left-only right-only cherry boundary simplify-by-decoration full-history dense sparse simplify-merges ancestry-path? date-order author-date-order topo-order reverse no-walk? do-walk count follow full-diff diff-merges= cc remerge-diff no-diff-merges log-size clear-decorations mailmap no-mailmap use-mailmap";
const LOG: GitCommand = {
  shows: true,
  flags: "pusiEFPcmzRabwr",
  values: "nGSL",
  globs: ["-L"],
  attached: "UMC",
  numeric: true,
  long: `${PRETTY} ${WALK}`,
};
const PLUMBING: GitCommand = {
  shows: true,
  flags: "rtmscpuzRabw",
  values: "GS",
  attached: "UMC",
  long: `${PRETTY} no-commit-id root merge-base cached`,
};
const listOnly =
  (...named: string[]) =>
  (operands: readonly Arg[], options: ReadonlyMap<string, unknown>) =>
    operands.length > 0 && !named.some((name) => options.has(name));

/** Settings for one call that change how its output looks and start nothing. */
const SAFE_SETTING =
  /^(color\.[a-z]+=\w+|core\.(quotepath=\w+|pager=(cat)?|fsmonitor=false)|pager\.[a-z-]+=(false|cat)|advice\.\w+=\w+|log\.(date|decorate|showsignature)=[\w-]+|diff\.(noprefix|mnemonicprefix|renames)=\w+)$/i;

/** Subcommands that only read. `-O` of diff names an order file and `-O` of grep a pager: neither is here. */
const COMMANDS: ReadonlyMap<string, GitCommand> = new Map<string, GitCommand>([
  [
    "status",
    {
      flags: "sbvz",
      attached: "u",
      long: "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
    },
  ],
  ["log", LOG],
  ["show", LOG],
  ["whatchanged", LOG],
  ["diff-tree", PLUMBING],
  ["diff-index", PLUMBING],
  ["diff-files", PLUMBING],
  ["range-diff", { shows: true, flags: "s", long: `${PRETTY} creation-factor= no-dual-color left-only right-only` }],
  ["cherry", { flags: "v", long: "verbose abbrev?" }],
  [
    "show-branch",
    { flags: "ar", long: "all remotes current topo-order date-order sparse list no-name sha1-name color? no-color" },
  ],
  ["symbolic-ref", { flags: "q", long: "quiet short", refuse: (operands) => operands.length !== 1 }],
  [
    "diff",
    {
      shows: true,
      flags: "pusabwzRW",
      values: "GS",
      attached: "UMC",
      numeric: true,
      long: `${PRETTY} cached staged merge-base base ours theirs cc no-index`,
    },
  ],
  [
    "rev-list",
    { flags: "EFPi", values: "n", numeric: true, long: `${WALK} objects header oneline format= pretty? parents` },
  ],
  ["shortlog", { flags: "nsecE", attached: "w", long: `numbered summary email group= ${WALK} committer` }],
  [
    "reflog",
    {
      ...LOG,
      refuse: ([first]) => first !== undefined && !/^(show|HEAD.*|refs\/.*)$/.test(literalText(first) ?? "x"),
    },
  ],
  [
    "blame",
    {
      shows: true,
      flags: "bcefklnstw",
      values: "LS",
      paths: ["-S"],
      attached: "MC",
      long: "root show-stats porcelain line-porcelain incremental show-name show-number show-email date= abbrev? score-debug first-parent",
    },
  ],
  [
    "grep",
    {
      shows: true,
      flags: "aiIhHEGPFnlLqzcpWwvo",
      values: "eABCm",
      numeric: true,
      long: "cached untracked no-index text ignore-case word-regexp invert-match extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count color? no-color break heading show-function after-context= before-context= context= function-context and or not all-match quiet max-depth= recursive no-recursive threads= max-count=",
    },
  ],
  [
    "ls-files",
    {
      flags: "cdmosiuktvzf",
      values: "xX",
      paths: ["-X", "--exclude-from"],
      long: "cached deleted modified others ignored stage unmerged killed exclude= exclude-standard error-unmatch full-name abbrev? eol deduplicate recurse-submodules format= directory no-empty-directory",
    },
  ],
  ["ls-tree", { flags: "drtlz", long: "long name-only name-status full-name full-tree abbrev? object-only format=" }],
  [
    "rev-parse",
    {
      long: "verify quiet short? abbrev-ref? symbolic symbolic-full-name all branches? tags? remotes? show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository show-object-format? path-format= revs-only no-revs flags no-flags",
    },
  ],
  [
    "describe",
    {
      long: "all tags long always exact-match contains candidates= abbrev? match= exclude= first-parent dirty? broken?",
    },
  ],
  ["cat-file", { shows: true, flags: "pets", long: "batch-check? batch-all-objects" }],
  ["show-ref", { flags: "dhqs", long: "head heads tags branches dereference hash? verify abbrev? quiet" }],
  [
    "for-each-ref",
    { long: "count= sort= format= color? points-at= merged? no-merged? contains? no-contains? ignore-case" },
  ],
  ["merge-base", { flags: "a", long: "all octopus independent is-ancestor fork-point" }],
  ["name-rev", { long: "tags refs= all name-only always" }],
  ["count-objects", { flags: "vH", long: "verbose human-readable" }],
  ["check-ignore", { flags: "qvnz", long: "quiet verbose non-matching no-index" }],
  [
    "branch",
    {
      flags: "arvl",
      long: "show-current all remotes list verbose contains? no-contains? merged? no-merged? sort= format= points-at= color? no-color column? no-column ignore-case abbrev? no-abbrev",
      refuse: listOnly("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged"),
    },
  ],
  [
    "tag",
    {
      flags: "l",
      attached: "n",
      long: "list contains? no-contains? merged? no-merged? sort= format= points-at= column? no-column color? ignore-case",
      refuse: listOnly("--list", "-l", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
    },
  ],
  [
    "remote",
    {
      flags: "v",
      long: "verbose",
      refuse: (operands) => operands.length > 0 && !(literalText(operands[0]) === "get-url" && operands.length === 2),
    },
  ],
  ["stash", { ...LOG, starts: /^(list|show)$/ }],
  ["worktree", { flags: "v", long: "porcelain", starts: /^list$/ }],
  [
    "config",
    {
      long: "get get-all get-regexp type= bool int local",
      refuse: (operands, options) =>
        // A name alone is asked for; a second word would be its new value.
        !["--get", "--get-all"].some((name) => options.has(name) || options.size === 0) ||
        operands.length !== 1 ||
        /url|header|token|password|credential/i.test(literalText(operands[0]) ?? "token"),
    },
  ],
  ["version", { long: "build-options" }],
]);

/** Options before the subcommand that change neither the place nor the helpers of a call. */
const GLOBAL = new Set([
  "--no-pager",
  "-P",
  "--no-optional-locks",
  "--literal-pathspecs",
  "--glob-pathspecs",
  "--noglob-pathspecs",
  "--icase-pathspecs",
  "--no-replace-objects",
]);

/** Says why a git call is not known to only read, or undefined when it is. */
export function gitProblem(args: readonly Arg[], scope: Scope): string | undefined {
  let index = 0;
  for (;;) {
    if (GLOBAL.has(literalText(args[index]) ?? "")) index += 1;
    else if (literalText(args[index]) === "-c" && SAFE_SETTING.test(literalText(args[index + 1]) ?? "")) index += 2;
    else break;
  }
  const name = literalText(args[index]);
  if (name === undefined) return "the git command is known only when it runs";
  if (name === "--version" && args.length === 1) return undefined;
  const command = COMMANDS.get(name);
  if (command === undefined) return `git ${name} is not known to only read`;
  // A folder made to look like a repository brings its own helpers; only the workspace's own repository is trusted.
  if (scope.cwds.some((cwd) => cwd !== scope.context.workspace))
    return "git below or outside the workspace's own repository";
  if (command.starts?.test(literalText(args[index + 1]) ?? "") === false)
    return `git ${name} with these words changes something`;
  const parsed = parseOptions({ ...command, risky: true }, args.slice(index + 1));
  if (typeof parsed === "string") return `git ${name}: ${parsed}`;
  if (command.refuse?.(parsed.operands, parsed.options) === true)
    return `git ${name} with these words changes something`;
  const pattern = name === "grep" && !parsed.options.has("-e");
  const outside = parsed.options.has("--no-index");
  for (const operand of [...(pattern ? parsed.operands.slice(1) : parsed.operands), ...parsed.paths]) {
    const escapes = operand.texts.some((text) => /^[/~]|(^|[/:])\.\.(\/|$)/.test(text));
    const problem = escapes || outside ? pathProblem(operand, scope) : undefined;
    if (problem !== undefined) return problem;
    if (command.shows === true && operand.texts.some(namesCredential)) return "a credential file in the history";
  }
  // `-L 1,5:file` names a file too.
  const lines = parsed.globs.some((value) => value.texts.some((text) => text.includes(":") && namesCredential(text)));
  return lines ? "a credential file in the history" : undefined;
}

/** True for `file`, `revision:file` and `:(magic)file` where the file holds credentials by its name. */
function namesCredential(text: string): boolean {
  return isCredentialPath(
    text
      .replace(/^.*:(\([^)]*\))?/s, "")
      .split("/")
      .filter(Boolean),
  );
}
