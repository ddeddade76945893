import { type Change, compareEntries, compareWithFiles, indexEntries, treeEntries } from "./changes.ts";
import { fatal } from "./failure.ts";
import { type OptionTable, type Parsed, parseOptions } from "./options.ts";
import { countLines, patchText, statText, summaryLine } from "./patch.ts";
import { headOid, pathFilter, type Repository, resolveCommit } from "./repository.ts";

/** How changes are shown; `git log` and `git show` know the same. */
export const SHOW_OPTIONS: OptionTable = {
  ...{ "--name-only": "flag", "--name-status": "flag", "--stat": "flag", "--shortstat": "flag", "--numstat": "flag" },
  ...{ "--no-color": "flag", "-p": "flag", "--patch": "flag", "-u": "flag" },
};
const OPTIONS: OptionTable = {
  ...SHOW_OPTIONS,
  ...{ "--cached": "flag", "--staged": "flag", "--quiet": "flag", "-q": "flag", "--exit-code": "flag" },
};

/** `git diff`: the work tree, `--cached` the index, one commit or two (`a b`, `a..b`), with paths. */
export async function diff(repo: Repository, args: readonly string[]): Promise<{ text: string; exitCode: number }> {
  const parsed = parseOptions("diff", args, OPTIONS);
  const { revisions, paths } = await splitRevisions(repo, parsed);
  const changes = await changesBetween(repo, parsed, revisions, paths);
  const quiet = parsed.flags.has("--quiet") || parsed.flags.has("-q");
  const tells = quiet || parsed.flags.has("--exit-code");
  return { text: quiet ? "" : showChanges(changes, parsed), exitCode: tells && changes.length > 0 ? 1 : 0 };
}

async function changesBetween(
  repo: Repository,
  { flags }: Parsed,
  revisions: readonly string[],
  paths: readonly string[],
): Promise<readonly Change[]> {
  const filter = pathFilter(repo, paths);
  const [first, second] = revisions;
  const index = await indexEntries(repo);
  if (flags.has("--cached") || flags.has("--staged")) {
    return compareEntries(repo, await treeEntries(repo, first ?? (await headOid(repo))), index, filter);
  }
  if (first !== undefined && second !== undefined) {
    return compareEntries(repo, await treeEntries(repo, first), await treeEntries(repo, second), filter);
  }
  const base = first === undefined ? index : await treeEntries(repo, first);
  const tracked = [...new Set([...base.keys(), ...index.keys()])].filter(filter).toSorted();
  return compareWithFiles(repo, base, tracked);
}

/** Operands are revisions until one is a path; what is neither ends the command. */
export async function splitRevisions(
  repo: Repository,
  { operands, paths }: Parsed,
): Promise<{ readonly revisions: readonly string[]; readonly paths: readonly string[] }> {
  const revisions: string[] = [];
  for (const [i, operand] of operands.entries()) {
    const names = operand.includes("..") ? operand.split(/\.{2,3}/) : [operand];
    try {
      for (const name of names) revisions.push(await resolveCommit(repo, name));
    } catch (error) {
      const rest = operands.slice(i);
      const index = paths.length > 0 ? undefined : await indexEntries(repo);
      for (const path of rest) {
        const isThere = await repo.at.fs.promises.lstat(path.startsWith("/") ? path : `${repo.cwd}/${path}`).then(
          () => true,
          () => false,
        );
        const known = isThere || (index && [...index.keys()].some(pathFilter(repo, [path])));
        if (!known) throw error;
      }
      return { revisions, paths: [...rest, ...paths] };
    }
  }
  if (revisions.length > 2) throw fatal("at most two revisions can be compared");
  return { revisions, paths };
}

/** Changes as the options ask for; a patch when they say nothing. */
export function showChanges(changes: readonly Change[], { flags }: Pick<Parsed, "flags">): string {
  if (changes.length === 0) return "";
  if (flags.has("--name-only")) return changes.map((each) => `${each.path}\n`).join("");
  if (flags.has("--name-status")) return changes.map((each) => `${each.kind}\t${each.path}\n`).join("");
  if (flags.has("--numstat")) {
    const row = (change: Change) => {
      const { added, removed, binary } = countLines(change);
      return `${binary ? "-" : added}\t${binary ? "-" : removed}\t${change.path}\n`;
    };
    return changes.map(row).join("");
  }
  if (flags.has("--shortstat")) return summaryLine(changes.map(countLines));
  const patch = flags.has("-p") || flags.has("--patch") || flags.has("-u");
  if (flags.has("--stat")) return statText(changes) + (patch ? `\n${changes.map(patchText).join("")}` : "");
  return changes.map(patchText).join("");
}
