import type { FileAnswer } from "../contract/sandbox.ts";
import { isCredentialPath, isProtectedPath } from "../shared/protected-names.ts";

/** Resolves links: `SandboxFiles.realPath`, or a stand-in that answers at once. */
export type RealPath = (path: string) => FileAnswer<string> | Promise<FileAnswer<string>>;

export type PathQuestion = {
  readonly op: "read" | "write";
  /** As the tool got it; nothing in it is expanded. */
  readonly path: string;
  readonly cwd: string;
  readonly root: string;
  /** Folders beside the workspace; a writer that has any may write nowhere else. */
  readonly allowDirs?: readonly string[] | undefined;
  readonly caseInsensitive?: boolean | undefined;
  /** Only to name the file a leading `~` would mean; such a path is refused either way. */
  readonly home?: string | undefined;
};

export type PathVerdict = {
  readonly verdict: "inside" | "protected" | "outside" | "invalid";
  /** The real path, when there is one. */
  readonly resolved?: string | undefined;
  /** The file holds credentials by its name. */
  readonly credential: boolean;
  readonly reason: string;
};

/** PATH_MAX of Linux. */
const MAX_PATH_BYTES = 4096;
/** Control characters, and those that make a name look like another one. */
const MISLEADING = /[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u206f\ufeff]/;
const SEVERITY = { inside: 0, protected: 1, outside: 2, invalid: 3 } as const;

/**
 * Says where a path leads once every link is resolved. The path is walked twice, with `..` taken after links (as a kernel
 * does) and before them (as a backend that tidies the text first does); the worse answer counts. spec: S-1
 */
export async function classifyPath(question: PathQuestion, realPath: RealPath): Promise<PathVerdict> {
  const { path, cwd, home } = question;
  const fault = invalidReason(path);
  if (fault !== undefined) return { verdict: "invalid", credential: false, reason: fault };
  if (/^~[A-Za-z0-9_.-]*(\/|$)/.test(path)) {
    const resolved = home !== undefined && /^~(\/|$)/.test(path) ? tidyPath(`${home}/${path.slice(1)}`) : undefined;
    return { verdict: "outside", resolved, credential: false, reason: "home folders are outside the workspace" };
  }
  const absolute = path.startsWith("/") ? path : `${cwd}/${path}`;
  const walked = await walkPath(absolute, realPath);
  if (!walked.ok) return { verdict: "invalid", credential: false, reason: walked.error.message };
  const tidied = tidyPath(absolute);
  const direct = await realPath(tidied);
  if (!direct.ok) return { verdict: "invalid", credential: false, reason: direct.error.message };

  const folders = insideFolders(question);
  const roots = await realRoots(folders, realPath);
  const spelled = segmentsBelow(tidied, folders, question) ?? [];
  const first = judge(walked.value, spelled, roots, question);
  if (direct.value === walked.value) return first;
  const second = judge(direct.value, spelled, roots, question);
  return SEVERITY[second.verdict] > SEVERITY[first.verdict] ? second : first;
}

/** `.`, `..` and empty segments taken away by the text alone. */
export function tidyPath(absolute: string): string {
  // Most paths are tidy.
  if (absolute.startsWith("/") && !/\/(\.{0,2}\/|\.{0,2}$)/.test(absolute)) return absolute;
  const kept: string[] = [];
  for (const segment of absolute.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

/** True when `path` is the folder or below it; compares whole segments, never a text prefix. */
export function isBelow(path: string, folder: string, caseInsensitive = false): boolean {
  const fold = (text: string) => (caseInsensitive ? text.toLowerCase() : text);
  const parent = fold(folder === "/" ? "" : folder.replace(/\/+$/, ""));
  const child = fold(path);
  return child === (parent === "" ? "/" : parent) || child.startsWith(`${parent}/`);
}

function invalidReason(path: string): string | undefined {
  if (path === "") return "the path is empty";
  if (new TextEncoder().encode(path).length > MAX_PATH_BYTES) return "the path is longer than 4,096 bytes";
  if (path.includes("\\")) return "the path has a backslash; use / between folders";
  if (MISLEADING.test(path)) return "the path has control or direction characters";
  // Half a pair has no bytes of its own: two such names are one file.
  if (!path.isWellFormed()) return "the path is not whole Unicode text";
  return undefined;
}

function judge(
  resolved: string,
  spelled: readonly string[],
  roots: readonly string[],
  question: PathQuestion,
): PathVerdict {
  const below = segmentsBelow(resolved, roots, question);
  if (below === undefined) {
    return { verdict: "outside", resolved, credential: false, reason: "the path is outside the workspace" };
  }
  const credential = isCredentialPath(below) || isCredentialPath(spelled);
  if (credential) return { verdict: "protected", resolved, credential, reason: "the file may hold credentials" };
  if (question.op === "write" && (isProtectedPath(below) || isProtectedPath(spelled))) {
    return { verdict: "protected", resolved, credential, reason: "the file decides what other programs run" };
  }
  return { verdict: "inside", resolved, credential, reason: "inside the workspace" };
}

function segmentsBelow(path: string, roots: readonly string[], question: PathQuestion): string[] | undefined {
  const root = roots.find((folder) => isBelow(path, folder, question.caseInsensitive));
  return root === undefined ? undefined : path.slice(root.length).split("/").filter(Boolean);
}

/** The folders that count as inside, as written. */
function insideFolders(question: PathQuestion): string[] {
  const allowed = question.allowDirs ?? [];
  const folders = question.op === "write" && allowed.length > 0 ? allowed : [question.root, ...allowed];
  return folders.map(tidyPath);
}

/** The same folders with their own links resolved: a real path is compared with real folders only. */
async function realRoots(folders: readonly string[], realPath: RealPath): Promise<string[]> {
  const answers = await Promise.all(folders.map(realPath));
  return answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
}

/** Resolves links up to each `..` before taking it. */
async function walkPath(absolute: string, realPath: RealPath): Promise<FileAnswer<string>> {
  let current = "/";
  for (const segment of absolute.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") {
      current = current === "/" ? `/${segment}` : `${current}/${segment}`;
      continue;
    }
    const real = await realPath(current);
    if (!real.ok) return real;
    current = tidyPath(`${real.value}/..`);
  }
  return realPath(current);
}
