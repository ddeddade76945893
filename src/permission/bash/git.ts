import type { Arg, Scope } from "./model.ts";
import { type OptionSpec, parseOptions } from "./options.ts";
import { pathProblem } from "./scope.ts";
import { literalText } from "./words.ts";

type GitCommand = OptionSpec & {
  /** Operands that would change something, by their number or their words. */
  readonly refuse?: (operands: readonly Arg[], options: ReadonlyMap<string, Arg | undefined>) => boolean;
};

const PRETTY =
  "oneline pretty? format= abbrev? abbrev-commit no-abbrev-commit no-abbrev encoding= date= relative-date parents children left-right graph no-graph decorate? no-decorate decorate-refs= decorate-refs-exclude= source notes? no-notes color? no-color no-patch patch unified= raw patch-with-raw stat? numstat shortstat dirstat? summary name-only name-status minimal patience histogram diff-algorithm= word-diff? word-diff-regex= color-words? color-moved? no-renames find-renames? find-copies? check full-index binary diff-filter= pickaxe-all pickaxe-regex relative? no-relative text ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? submodule? src-prefix= dst-prefix= no-prefix ita-invisible-in-index compact-summary indent-heuristic anchored= stat-width= stat-count= z";
const WALK =
  "max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges min-parents= max-parents= first-parent not all branches? tags? remotes? glob= exclude= reflog merge cherry-pick cherry-mark left-only right-only cherry boundary simplify-by-decoration full-history dense sparse simplify-merges ancestry-path? date-order author-date-order topo-order reverse no-walk? do-walk count follow full-diff stdin diff-merges= cc remerge-diff no-diff-merges log-size clear-decorations mailmap no-mailmap use-mailmap";
const LOG: GitCommand = { flags: "pusiEFPcmzRabw", values: "nGSLUMCO", numeric: true, long: `${PRETTY} ${WALK}` };
const listOnly =
  (...named: string[]) =>
  (operands: readonly Arg[], options: ReadonlyMap<string, unknown>) =>
    operands.length > 0 && !named.some((name) => options.has(name));

/** Subcommands that only read. `-O` of diff names an order file and `-O` of grep a pager: neither is here. */
const COMMANDS: ReadonlyMap<string, GitCommand> = new Map<string, GitCommand>([
  [
    "status",
    {
      flags: "sbvuz",
      long: "short branch show-stash porcelain? long verbose untracked-files? ignore-submodules? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
    },
  ],
  ["log", { ...LOG, values: "nGSLUMC" }],
  ["show", { ...LOG, values: "nGSLUMC" }],
  ["whatchanged", { ...LOG, values: "nGSLUMC" }],
  [
    "diff",
    {
      flags: "pusabwzRW",
      values: "UGSMC",
      numeric: true,
      long: `${PRETTY} cached staged merge-base base ours theirs cc`,
    },
  ],
  [
    "rev-list",
    { flags: "EFPi", values: "n", numeric: true, long: `${WALK} objects header oneline format= pretty? parents` },
  ],
  ["shortlog", { flags: "nsecE", values: "wn", long: `numbered summary email group= ${WALK}` }],
  [
    "reflog",
    {
      ...LOG,
      values: "nGS",
      refuse: ([first]) => first !== undefined && !/^(show|HEAD.*|refs\/.*)$/.test(literalText(first) ?? "x"),
    },
  ],
  [
    "blame",
    {
      flags: "bcefklnstw",
      values: "LMCS",
      long: "root show-stats porcelain line-porcelain incremental show-name show-number show-email date= abbrev= score-debug first-parent",
    },
  ],
  [
    "grep",
    {
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
      long: "all tags long always exact-match contains candidates= abbrev= match= exclude= first-parent dirty? broken?",
    },
  ],
  ["cat-file", { flags: "petss", long: "batch? batch-check? batch-all-objects" }],
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
      long: "show-current all remotes list verbose contains? no-contains? merged? no-merged? sort= format= points-at= color? no-color column? no-column ignore-case abbrev= no-abbrev",
      refuse: listOnly("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged"),
    },
  ],
  [
    "tag",
    {
      flags: "l",
      values: "n",
      long: "list contains? no-contains? merged? no-merged? sort= format= points-at= column? no-column color? ignore-case",
      refuse: listOnly("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
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
  ["stash", { ...LOG, values: "nGS", refuse: ([first]) => !/^(list|show)$/.test(literalText(first) ?? "") }],
  ["worktree", { flags: "v", long: "porcelain", refuse: ([first]) => literalText(first) !== "list" }],
  [
    "config",
    {
      long: "get get-all get-regexp type= bool int local",
      refuse: (operands, options) =>
        !["--get", "--get-all"].some((name) => options.has(name)) ||
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
  while (GLOBAL.has(literalText(args[index]) ?? "")) index += 1;
  const name = literalText(args[index]);
  if (name === undefined) return "the git command is known only when it runs";
  if (name === "--version" && args.length === 1) return undefined;
  const command = COMMANDS.get(name);
  if (command === undefined) return `git ${name} is not known to only read`;
  // A folder made to look like a repository brings its own helpers; only the workspace's own repository is trusted.
  if (scope.cwds.some((cwd) => cwd !== scope.context.workspace))
    return "git below or outside the workspace's own repository";
  const parsed = parseOptions({ ...command, risky: true }, args.slice(index + 1));
  if (typeof parsed === "string") return `git ${name}: ${parsed}`;
  if (command.refuse?.(parsed.operands, parsed.options) === true)
    return `git ${name} with these words changes something`;
  for (const operand of [...parsed.operands, ...parsed.paths]) {
    const escapes = operand.texts.some((text) => /^[/~]|(^|[/:])\.\.(\/|$)/.test(text));
    const problem = escapes ? pathProblem(operand, scope) : undefined;
    if (problem !== undefined) return problem;
    if (operand.texts.some((text) => /(^|[:/])\.env(\.|$)/.test(text))) return "a credential file in the history";
  }
  return undefined;
}
