import type { PathFilter, Repository } from "./repository.ts";

/** Content of a file at one of its places. */
export type Side = { readonly oid: string; readonly mode: string; readonly bytes: Uint8Array };

/** One file that is not the same in two places. */
export type Change = {
  readonly path: string;
  readonly kind: "A" | "M" | "D";
  readonly before: Side | undefined;
  readonly after: Side | undefined;
};

/** One file of a repository: `X` says how the index differs from HEAD, `Y` how the work tree differs from the index. */
export type Row = { readonly path: string; readonly x: " " | "A" | "M" | "D"; readonly y: " " | "M" | "D" | "?" };

/** What `git status` knows, by path. Ignored files are left out. */
export async function statusRows(repo: Repository, filter: PathFilter = () => true): Promise<readonly Row[]> {
  const rows: Row[] = [];
  // Before the first commit the library takes HEAD for a tree without files.
  const matrix = await repo.git.statusMatrix({ ...repo.at, ref: "HEAD" });
  for (const [path, head, work, stage] of matrix) {
    if (!filter(path)) continue;
    const x = head === 0 ? (stage === 0 ? " " : "A") : stage === 0 ? "D" : stage === 1 ? " " : "M";
    if (stage === 0) {
      if (x === "D") rows.push({ path, x, y: " " });
      if (work !== 0) rows.push({ path, x: " ", y: "?" });
      continue;
    }
    const y = work === 0 ? "D" : (stage === 1 && work === 2) || stage === 3 ? "M" : " ";
    if (x !== " " || y !== " ") rows.push({ path, x, y });
  }
  return rows;
}

type Entry = { readonly oid: string; readonly mode: string };

/** The files of a commit or tree. */
export async function treeEntries(repo: Repository, ref: string | undefined): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  if (ref === undefined) return entries;
  await repo.git.walk({
    ...repo.at,
    trees: [repo.git.TREE({ ref })],
    map: async (path, [entry]) => {
      if (!entry || (await entry.type()) !== "blob") return;
      entries.set(path, { oid: (await entry.oid()) ?? "", mode: modeText(await entry.mode()) });
    },
  });
  return entries;
}

/** The files of the index. */
export async function indexEntries(repo: Repository): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  await repo.git.walk({
    ...repo.at,
    trees: [repo.git.STAGE()],
    map: async (path, [entry]) => {
      if (!entry || (await entry.type()) !== "blob") return;
      entries.set(path, { oid: (await entry.oid()) ?? "", mode: modeText(await entry.mode()) });
    },
  });
  return entries;
}

function modeText(mode: number | undefined): string {
  return (mode ?? 0o100644).toString(8).padStart(6, "0");
}

/** What differs between two sets of files, with content. */
export async function compareEntries(
  repo: Repository,
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
  filter: PathFilter,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const path of [...new Set([...before.keys(), ...after.keys()])].toSorted()) {
    const old = before.get(path);
    const now = after.get(path);
    if (!filter(path) || (old?.oid === now?.oid && old?.mode === now?.mode)) continue;
    changes.push({
      path,
      kind: !old ? "A" : !now ? "D" : "M",
      before: old && (await blob(repo, old)),
      after: now && (await blob(repo, now)),
    });
  }
  return changes;
}

/** What the work tree has changed in files that `base` has; files that only the work tree has are left out. */
export async function compareWithFiles(
  repo: Repository,
  base: ReadonlyMap<string, Entry>,
  paths: Iterable<string>,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const path of paths) {
    const old = base.get(path);
    const after = await workFile(repo, path);
    if (!old && !after) continue;
    if (old?.oid === after?.oid && old?.mode === after?.mode) continue;
    const before = old && (await blob(repo, old));
    changes.push({ path, kind: !old ? "A" : !after ? "D" : "M", before, after });
  }
  return changes;
}

async function blob(repo: Repository, entry: Entry): Promise<Side> {
  return { ...entry, bytes: (await repo.git.readBlob({ ...repo.at, oid: entry.oid })).blob };
}

async function workFile(repo: Repository, path: string): Promise<Side | undefined> {
  const { promises } = repo.at.fs;
  const full = `${repo.root}/${path}`;
  const stat = await promises.lstat(full).catch(() => undefined);
  if (!stat || stat.isDirectory()) return undefined;
  const content = stat.isSymbolicLink() ? await promises.readlink(full) : await promises.readFile(full);
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const mode = stat.isSymbolicLink() ? "120000" : stat.mode & 0o100 ? "100755" : "100644";
  return { oid: (await repo.git.hashBlob({ object: bytes })).oid, mode, bytes };
}
