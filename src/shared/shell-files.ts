import type { FileError, FileStat } from "../contract/sandbox.ts";

/** File operations as scripts for a machine's bash with GNU coreutils and findutils; `$1` is the path, `LC_ALL` is `C`. */
export const SHELL_FILES = {
  removeOne: [
    '[ -e "$1" ] || [ -L "$1" ] || { echo "No such file or directory" >&2; exit 1; }',
    'if [ -d "$1" ] && [ ! -L "$1" ]; then rmdir -- "$1"; else rm -f -- "$1"; fi',
  ].join("\n"),
  /** Missing parts stay as they are; `stat` then says what keeps the path from being reached. */
  realPath: 'readlink -n -m -- "$1" || exit 1; stat -L -- "$1" >/dev/null',
  stat: 'stat -L -c "%F/%s/%a/%.3Y" -- "$1"',
  lstat: 'stat -c "%F/%s/%a/%.3Y" -- "$1"',
  list: `cd -- "$1" && find . -mindepth 1 -maxdepth 1 -printf '%y %s %m %T@ %P\\0'`,
  /** `$2` is the most entries. A slash sorts before all else, so that what is below a folder comes right after it. */
  walk: [
    `cd -- "$1" && find . -mindepth 1 -name $'*\\001*' -prune -o -printf '%y %s %m %T@ %P\\0'`,
    `tr '/' '\\001' | sort -z -t ' ' -k 5 | head -z -n "$2"`,
  ].join(" | "),
} as const;

/** Entries of `list` and `walk`, below the folder `at`. */
export function parseEntries(output: string, at: string): FileStat[] {
  const folder = at.replace(/\/+$/, "");
  return output.split("\0").flatMap((record): FileStat[] => {
    const [, type, size, mode, mtime, name] = /^(.) (\d+) ([0-7]+) (\S+) (.+)$/s.exec(record) ?? [];
    if (name === undefined) return [];
    const kind = type === "d" ? "directory" : type === "l" ? "symlink" : "file";
    const path = `${folder}/${name.replaceAll("\u0001", "/")}`;
    const mtimeMs = Math.floor(Number(mtime) * 1000);
    return [{ path, kind, size: Number(size), mode: Number.parseInt(mode ?? "0", 8), mtimeMs }];
  });
}

/** The one entry of `stat` and `lstat`. */
export function parseStat(output: string, path: string): FileStat {
  const [words, size, mode, mtime] = output.trim().split("/");
  const kind = words === "directory" ? "directory" : words === "symbolic link" ? "symlink" : "file";
  const mtimeMs = Math.round(Number(mtime) * 1000);
  return { path, kind, size: Number(size), mode: Number.parseInt(mode ?? "0", 8), mtimeMs };
}

/** What the kernel, coreutils and Go say (in English), in the order they are looked for. */
const WORDS: readonly (readonly [RegExp, FileError["code"], string])[] = [
  [/not a directory|path is a file:/i, "not_directory", "not a directory"],
  [/is a directory/i, "is_directory", "is a directory"],
  [/already exists|file exists/i, "exists", "file already exists"],
  [/directory not empty/i, "not_empty", "directory not empty"],
  [/too many (levels of symbolic )?links|cyclic symlink/i, "loop", "too many levels of symbolic links"],
  [/permission denied|operation not permitted|read-only file system/i, "permission", "permission denied"],
  [/no space left|not enough (disk space|inodes)|quota exceeded/i, "no_space", "no space left in the sandbox"],
  [/file too large/i, "too_large", "file too large"],
  [/file name too long/i, "invalid", "the path is too long"],
  [/no such file or directory|does not exist|not found/i, "not_found", "no such file or directory"],
];

/** What the contract calls such words; the path is taken out first, for it may hold such words itself. */
export function faultOfWords(said: string, path: string): FileError | undefined {
  const plain = said.replaceAll(path, "");
  const [, code, words] = WORDS.find(([pattern]) => pattern.test(plain)) ?? [];
  return code === undefined ? undefined : { code, message: `${words}: ${path}` };
}
