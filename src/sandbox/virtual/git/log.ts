import { compareEntries, treeEntries } from "./changes.ts";
import { SHOW_OPTIONS, showChanges, splitRevisions } from "./diff.ts";
import { fatal } from "./failure.ts";
import { type OptionTable, type Parsed, parseOptions } from "./options.ts";
import { currentBranch, headOid, pathFilter, type Repository, readCommit, resolveCommit, short } from "./repository.ts";

const OPTIONS: OptionTable = {
  ...SHOW_OPTIONS,
  ...{ "-n": "value", "--max-count": "value", "--oneline": "flag", "--format": "value", "--pretty": "value" },
  ...{ "--decorate": "flag", "--no-decorate": "flag", "--no-patch": "flag", "-s": "flag" },
};
/** Commits one `git log` walks at most. */
const MAX_COMMITS = 5_000;

type Commit = Awaited<ReturnType<typeof readCommit>>;

/** `git log`: `-n`, `--oneline`, `--format`, `-p`, `--stat`, `--name-only`, a revision, a range, paths. */
export async function log(repo: Repository, args: readonly string[]): Promise<string> {
  const parsed = parseOptions("log", args, OPTIONS);
  const { revisions, paths } = await splitRevisions(repo, parsed);
  const range = revisions.length === 2;
  const start = (range ? revisions[1] : revisions[0]) ?? (await headOid(repo));
  if (start === undefined) {
    throw fatal(`your current branch '${(await currentBranch(repo)) ?? "HEAD"}' does not have any commits yet`);
  }
  const [limit = "Infinity"] = parsed.values.get("-n") ?? parsed.values.get("--max-count") ?? [];
  const left = Number(limit);
  if (Number.isNaN(left)) throw fatal(`'${limit}': not an integer`);
  const hidden = new Set(range ? (await history(repo, revisions[0] ?? "")).map(({ oid }) => oid) : []);
  const shown: string[] = [];
  for (const { oid, commit } of await history(repo, start)) {
    if (shown.length >= left) break;
    if (hidden.has(oid)) continue;
    if (paths.length > 0 && (await changesOf(repo, commit, oid, paths)).length === 0) continue;
    shown.push(await entryText(repo, oid, commit, parsed, paths, shows(parsed)));
  }
  const oneline = parsed.flags.has("--oneline") || formatOf(parsed) !== undefined;
  return shown.join(oneline ? "" : "\n");
}

/** `git show`: a commit with its patch, or with `commit:path` a file. */
export async function show(repo: Repository, args: readonly string[]): Promise<Uint8Array | string> {
  const parsed = parseOptions("show", args, OPTIONS);
  const [revision = "HEAD"] = parsed.operands;
  const colon = revision.indexOf(":");
  if (colon >= 0) {
    const oid = await resolveCommit(repo, revision.slice(0, colon));
    const filepath = revision.slice(colon + 1).replace(/^\.\//, "");
    const found = await repo.git.readBlob({ ...repo.at, oid, filepath }).catch(() => undefined);
    if (!found) throw fatal(`path '${filepath}' does not exist in '${revision.slice(0, colon)}'`);
    return found.blob;
  }
  const oid = await resolveCommit(repo, revision);
  const hides = parsed.flags.has("-s") || parsed.flags.has("--no-patch");
  return entryText(repo, oid, await readCommit(repo, oid), parsed, parsed.paths, !hides);
}

async function history(repo: Repository, ref: string) {
  return repo.git.log({ ...repo.at, ref, depth: MAX_COMMITS });
}

function shows({ flags }: Parsed): boolean {
  return Object.keys(SHOW_OPTIONS).some((option) => option !== "--no-color" && flags.has(option));
}

/** What a commit changed against its first parent. */
async function changesOf(repo: Repository, commit: Commit, oid: string, paths: readonly string[]) {
  const [before, after] = [await treeEntries(repo, commit.parent[0]), await treeEntries(repo, oid)];
  return compareEntries(repo, before, after, pathFilter(repo, paths));
}

async function entryText(
  repo: Repository,
  oid: string,
  commit: Commit,
  parsed: Parsed,
  paths: readonly string[],
  changes: boolean,
): Promise<string> {
  const format = formatOf(parsed);
  let head: string;
  if (format !== undefined) head = `${formatted(format, oid, commit)}\n`;
  else if (parsed.flags.has("--oneline")) head = `${short(oid)} ${subject(commit)}\n`;
  else head = fullHead(oid, commit);
  if (!changes) return head;
  const text = showChanges(await changesOf(repo, commit, oid, paths), parsed);
  const gap = text === "" || parsed.flags.has("--oneline") ? "" : "\n";
  return head + gap + text;
}

function fullHead(oid: string, commit: Commit): string {
  const { author, parent, message } = commit;
  const merge = parent.length > 1 ? `Merge: ${parent.map(short).join(" ")}\n` : "";
  const body = message
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`);
  const who = `Author: ${author.name} <${author.email}>\nDate:   ${dateText(author)}`;
  return `commit ${oid}\n${merge}${who}\n\n${body.join("\n")}\n`;
}

export function subject(commit: Commit): string {
  return commit.message.split("\n")[0] ?? "";
}

/** `--format=…`, `--pretty=format:…`; undefined for the usual look. */
function formatOf({ values, flags }: Parsed): string | undefined {
  const [format] = values.get("--format") ?? values.get("--pretty") ?? [];
  if (format === undefined || flags.has("--oneline")) return undefined;
  if (format === "oneline") return "%H %s";
  if (format.includes("%")) return format.replace(/^t?format:/, "");
  throw fatal(
    `invalid --pretty format: ${format}; a text with %H %h %s %b %B %an %ae %ad %aI %at %cn %ce %cI %ct %P %n is known`,
  );
}

type Person = Commit["author"];

function formatted(format: string, oid: string, commit: Commit): string {
  const { author, committer, message, parent } = commit;
  const body = message.split("\n").slice(1).join("\n").trim();
  const person = (who: Person): Readonly<Record<string, string>> => ({
    n: who.name,
    e: who.email,
    d: dateText(who),
    I: isoText(who),
    t: String(who.timestamp),
  });
  return format.replace(/%(a[nedIt]|c[nedIt]|[HhsbBPpn%])/g, (whole, code: string) => {
    if (code.startsWith("a")) return person(author)[code.charAt(1)] ?? whole;
    if (code.startsWith("c")) return person(committer)[code.charAt(1)] ?? whole;
    const plain: Readonly<Record<string, string>> = {
      ...{ H: oid, h: short(oid), s: subject(commit), b: body, B: message.trimEnd(), n: "\n", "%": "%" },
      ...{ P: parent.join(" "), p: parent.map(short).join(" ") },
    };
    return plain[code] ?? whole;
  });
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number) => String(n).padStart(2, "0");

/** The time where the person was. */
function localDate({ timestamp, timezoneOffset }: Person): Date {
  return new Date((timestamp - timezoneOffset * 60) * 1000);
}

function offsetText({ timezoneOffset }: Person, between: string): string {
  const minutes = Math.abs(timezoneOffset);
  return `${timezoneOffset > 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}${between}${two(minutes % 60)}`;
}

function dateText(who: Person): string {
  const at = localDate(who);
  const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(":");
  const day = `${DAYS[at.getUTCDay()]} ${MONTHS[at.getUTCMonth()]} ${at.getUTCDate()}`;
  return `${day} ${time} ${at.getUTCFullYear()} ${offsetText(who, "")}`;
}

function isoText(who: Person): string {
  return localDate(who).toISOString().slice(0, 19) + offsetText(who, ":");
}
