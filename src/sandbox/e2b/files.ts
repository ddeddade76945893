import { err, ok, type Result } from "../../contract/result.ts";
import type { FileAnswer, FileStat, SandboxFiles } from "../../contract/sandbox.ts";
import { parseEntries, parseStat, SHELL_FILES } from "../../shared/shell-files.ts";
import type { Connection } from "./connection.ts";
import { fileError, invalidPath } from "./file-fault.ts";
import { download, upload } from "./file-transfer.ts";
import { call, type Failure, type Live, type SandboxFetch } from "./rpc.ts";
import { type EntryInfo, ListAnswer, StatAnswer } from "./wire.ts";

/** Runs one of our own small scripts in the sandbox; output and errors as text. */
export type RunScript = (
  script: string,
  args: readonly string[],
) => Promise<Result<{ readonly stdout: string; readonly stderr: string; readonly exitCode: number }, Failure>>;

export type FilesOptions = {
  readonly connection: Connection;
  readonly fetch: SandboxFetch;
  readonly user: string;
  readonly run: RunScript;
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** A file of 32 MB over a slow line. */
const FILE_MS = 60_000;

/** Files over envd, and over its shell where envd has nothing: links, single removals, whole trees. */
export function createE2bFiles(options: FilesOptions): SandboxFiles {
  const use = <T>(path: string, work: (live: Live, signal: AbortSignal) => Promise<Result<T, Failure>>) =>
    withLive(options, path, work);
  const rpc = (live: Live, method: string, message: unknown, signal: AbortSignal) =>
    call(options.fetch, live, `filesystem.Filesystem/${method}`, message, signal);
  const entry = (path: string): Promise<FileAnswer<EntryInfo>> =>
    use(path, async (live, signal) =>
      parsed(await rpc(live, "Stat", { path }, signal), (it) => StatAnswer.parse(it).entry),
    );
  const script = (path: string, text: string): Promise<FileAnswer<string>> => runScript(options, path, text);

  return {
    readFile: (path) => use(path, (live, signal) => download(options.fetch, live, options.user, path, signal)),
    writeFile: (path, content) =>
      use(path, (live, signal) => upload(options.fetch, live, options.user, path, content, signal)),
    async lstat(path) {
      const found = await entry(path);
      return found.ok ? ok(statOf(path, found.value)) : found;
    },
    async stat(path) {
      const found = await entry(path);
      if (!found.ok) return found;
      if (found.value.symlinkTarget === undefined) return ok(statOf(path, found.value));
      const followed = await script(path, SHELL_FILES.stat);
      return followed.ok ? ok(parseStat(followed.value, path)) : followed;
    },
    async list(path) {
      const found = await use(path, async (live, signal) =>
        parsed(await rpc(live, "ListDir", { path, depth: 1 }, signal), (it) => ListAnswer.parse(it).entries),
      );
      if (!found.ok) return found;
      const at = path.replace(/\/+$/, "");
      return ok(found.value.map((each) => statOf(`${at}/${each.name}`, each)).sort(byPath));
    },
    walk: (path, limit) => walk(options.run, path, limit),
    async remove(path, { recursive }) {
      const found = await entry(path);
      if (!found.ok) return found;
      // envd removes whole trees only.
      if (!recursive) return nothing(await script(path, SHELL_FILES.removeOne));
      return use(path, async (live, signal) => nothing(await rpc(live, "Remove", { path }, signal)));
    },
    mkdir: (path) =>
      use(path, async (live, signal) => {
        const made = await rpc(live, "MakeDir", { path }, signal);
        return made.ok || made.error.code === "already_exists" ? ok(undefined) : made;
      }),
    realPath: (path) => script(path, SHELL_FILES.realPath),
  };
}

/** Opens the sandbox and makes one call, looking for the sandbox once more when it has gone meanwhile. */
async function withLive<T>(
  options: FilesOptions,
  path: string,
  work: (live: Live, signal: AbortSignal) => Promise<Result<T, Failure>>,
): Promise<FileAnswer<T>> {
  const wrong = invalidPath(path);
  if (wrong) return err(wrong);
  const over = new AbortController();
  const late = options.delay(FILE_MS, over.signal).then(() => err(LATE));
  const once = async (): Promise<Result<T, Failure>> => {
    const live = await options.connection.live(FILE_MS);
    if (!live.ok) return live;
    const answer = await work(live.value, over.signal);
    if (!answer.ok && answer.error.gone) options.connection.lost(live.value);
    return answer;
  };
  const twice = async (): Promise<Result<T, Failure>> => {
    const answer = await once();
    return answer.ok || !answer.error.gone ? answer : once();
  };
  try {
    const answer = await Promise.race([twice(), late]);
    return answer.ok ? answer : err(fileError(answer.error, path));
  } finally {
    over.abort();
  }
}

const LATE: Failure = { code: "unreachable", message: `no answer within ${FILE_MS / 1000} s`, gone: false };

async function runScript(options: FilesOptions, path: string, text: string): Promise<FileAnswer<string>> {
  const wrong = invalidPath(path);
  if (wrong) return err(wrong);
  const ran = await options.run(text, [path]);
  if (!ran.ok) return err(fileError(ran.error, path));
  const { exitCode, stdout, stderr } = ran.value;
  const missing = text === SHELL_FILES.realPath && stdout !== "" && /No such file or directory/.test(stderr);
  if (exitCode !== 0 && !missing) return err(fileError({ code: "internal", message: stderr, gone: false }, path));
  return ok(stdout);
}

/** A folder that is missing has nothing below it; a machine that is away must not look like an empty folder. */
async function* walk(run: RunScript, path: string, limit: number): AsyncGenerator<FileStat> {
  if (limit <= 0 || invalidPath(path)) return;
  const ran = await run(SHELL_FILES.walk, [path, String(limit)]);
  if (!ran.ok) throw new Error(`the e2b sandbox could not be used (${ran.error.message}): ${path}`);
  yield* parseEntries(ran.value.stdout, path);
}

function statOf(path: string, info: EntryInfo): FileStat {
  const link = info.symlinkTarget !== undefined || info.type === "FILE_TYPE_SYMLINK";
  const kind = link ? "symlink" : info.type === "FILE_TYPE_DIRECTORY" ? "directory" : "file";
  const mtimeMs = info.modifiedTime === undefined ? 0 : Date.parse(info.modifiedTime) || 0;
  return { path, kind, size: Number(info.size), mode: info.mode & 0o7777, mtimeMs };
}

function byPath(a: FileStat, b: FileStat): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

function parsed<T>(answer: Result<unknown, Failure>, read: (value: unknown) => T): Result<T, Failure> {
  if (!answer.ok) return answer;
  try {
    return ok(read(answer.value));
  } catch {
    return err({ code: "unreachable", message: "an answer that is none of envd's", gone: false });
  }
}

function nothing<E>(answer: Result<unknown, E>): Result<void, E> {
  return answer.ok ? ok(undefined) : answer;
}
