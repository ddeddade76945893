import type { Arg, Scope } from "./model.ts";
import { parseOptions } from "./options.ts";
import { existenceProblem, mentionsCredentials, pathProblem } from "./scope.ts";
import { isReadonlyAwk, isReadonlyJq, isReadonlySed } from "./scripts.ts";
import { isPublicVariable, isSafeAssignment } from "./variables.ts";
import { literalArg, literalText, mayBeOption, patternArg } from "./words.ts";

/** Names whose change alters what other commands do, although they are in lower case. */
const SPECIAL_LOWER = /^(histchars|auto_resume|https?_proxy|all_proxy|ftp_proxy|no_proxy)$/;

/** True for a variable of the text's own: no program reads it and the shell gives it no meaning. */
export function isOwnVariable(name: string): boolean {
  return /^[a-z_][a-z0-9_]*$/.test(name) && name !== "_" && !SPECIAL_LOWER.test(name);
}

/** What a special rule may ask of the walk. */
export type SpecialApi = {
  readonly scope: Scope;
  /** Where the files are that the command before in the pipe names; empty when it does not. */
  readonly namesFromPipe: readonly string[];
  /** Judges another command that this one starts. */
  judge(argv: readonly Arg[]): void;
};

const UNKNOWN_WORDS: Arg = { kind: "dynamic", texts: [""], splits: true };

/** Answers with what keeps the call from being read-only, or undefined. */
export type Special = (args: readonly Arg[], api: SpecialApi) => string | undefined;

function pathsProblem(args: readonly Arg[], scope: Scope): string | undefined {
  for (const arg of args) {
    const problem = pathProblem(arg, scope);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const sed: Special = (args, { scope }) => {
  const parsed = parseOptions(
    {
      flags: "nErsuz",
      values: "el",
      risky: true,
      long: "quiet silent regexp-extended separate unbuffered null-data expression= line-length= posix sandbox help version",
    },
    args,
  );
  if (typeof parsed === "string") return parsed;
  const count = [...parsed.options.keys()].filter((name) => name === "-e" || name === "--expression").length;
  // A repeated `-e` keeps only its last value in the table, so the values are collected here.
  const scripts = count > 0 ? expressionValues(args) : parsed.operands.slice(0, 1);
  if (scripts.length === 0)
    return parsed.options.has("--help") || parsed.options.has("--version") ? undefined : "no sed script";
  for (const script of scripts) {
    const text = literalText(script);
    if (text === undefined || !isReadonlySed(text)) return "the sed script is not known to only print";
  }
  return pathsProblem(count > 0 ? parsed.operands : parsed.operands.slice(1), scope);
};

function expressionValues(args: readonly Arg[]): Arg[] {
  return args.flatMap((arg, index) => {
    const text = literalText(arg) ?? "";
    if (/^-[nErsuz]*e$/.test(text) || text === "--expression") return args.slice(index + 1, index + 2);
    const inline = /^(?:-[nErsuz]*e|--expression=)([\s\S]+)$/.exec(text)?.[1];
    return inline === undefined ? [] : [{ ...arg, texts: [inline] }];
  });
}

const awk: Special = (args, { scope }) => {
  // Options end at the program; what follows it are files, whatever they are called.
  let end = 0;
  while (/^-/.test(args[end]?.texts[0] ?? ""))
    end += /^(-[Fv]|--field-separator|--assign)$/.test(args[end]?.texts[0] ?? "") ? 2 : 1;
  const parsed = parseOptions(
    { flags: "", values: "Fv", risky: true, long: "field-separator= assign= version help" },
    args.slice(0, end + 1),
  );
  if (typeof parsed === "string") return parsed;
  const [script] = parsed.operands;
  if (parsed.operands.length > 1) return "an awk option is known only when it runs";
  const files = args.slice(end + 1);
  const text = literalText(script);
  if (text === undefined || !isReadonlyAwk(text)) return "the awk program is not known to only print";
  return pathsProblem(files, scope);
};

const jq: Special = (args, { scope }) => {
  // These take a name and a value. The name must be known, or the value might be the name.
  const plain: Arg[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index];
    if (/^--arg(json)?$/.test(literalText(arg) ?? "")) {
      if (!/^\w+$/.test(literalText(args[index + 1]) ?? "") || args[index + 2]?.splits !== false)
        return "a jq variable that is not plain";
      index += 2;
    } else if (arg !== undefined) plain.push(arg);
  }
  const parsed = parseOptions(
    {
      flags: "rcenSsjaRMC",
      risky: true,
      long: "raw-output compact-output null-input exit-status slurp sort-keys join-output ascii-output raw-input monochrome-output color-output tab unbuffered stream seq help version indent=",
    },
    plain,
  );
  if (typeof parsed === "string") return parsed;
  const [script, ...files] = parsed.operands;
  const text = literalText(script);
  if (text === undefined || !isReadonlyJq(text)) return "the jq filter is not known to only read its input";
  return pathsProblem(files, scope);
};

const FIND_TESTS =
  /^-(name|iname|path|ipath|wholename|iwholename|regex|iregex|regextype|type|xtype|maxdepth|mindepth|size|[acm]time|[acm]min|user|group|uid|gid|perm|links|inum|printf|newer[aBcm]t|used|fstype)$/;
const FIND_PLAIN =
  /^(-(empty|print|print0|ls|prune|not|a|o|and|or|xdev|mount|depth|true|false|quit|daystart|readable|writable|executable|nouser|nogroup|noleaf|ignore_readdir_race)|!|\(|\)|,)$/;

const find: Special = (args, api) => {
  let index = 0;
  while (/^-[PO]\d?$/.test(literalText(args[index]) ?? "")) index += 1;
  const starts: Arg[] = [];
  for (; index < args.length; index += 1) {
    const arg = args[index];
    if (arg === undefined || /^[-!(),]/.test(literalText(arg) ?? "")) break;
    if (mayBeOption(arg)) return "a word might turn into a find action";
    starts.push(arg);
  }
  let problem = pathsProblem(starts, api.scope);
  // A file found by the name of a credential is not to be opened.
  const secret = mentionsCredentials(args);
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]);
    if (text === undefined) return "a word might turn into a find action";
    if (FIND_PLAIN.test(text)) continue;
    if (FIND_TESTS.test(text)) {
      index += 1;
      if (args[index]?.splits !== false) return "a find test without a plain value";
      continue;
    }
    if (text === "-newer" || text === "-samefile") {
      index += 1;
      problem ??= pathsProblem(args.slice(index, index + 1), api.scope);
      continue;
    }
    if (!/^-(exec|execdir|ok|okdir)$/.test(text)) return `the find action ${text} is not known to be harmless`;
    let end = index + 1;
    while (end < args.length && !/^[;+]$/.test(literalText(args[end]) ?? "")) end += 1;
    if (end >= args.length) return "an unfinished find action";
    api.judge(
      args.slice(index + 1, end).map((arg) => {
        const word = literalText(arg);
        if (word === undefined || !word.includes("{}")) return arg;
        const known = word === "{}" && !secret;
        return known ? { ...patternArg("*"), texts: [literalText(starts[0]) ?? "."] } : UNKNOWN_WORDS;
      }),
    );
    index = end;
  }
  return problem;
};

const xargs: Special = (args, api) => {
  let index = 0;
  let replace: string | undefined;
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]);
    if (text === undefined) return "an xargs word is known only when it runs";
    if (!text.startsWith("-")) break;
    if (/^-[0rtx]+$/.test(text) || /^--(null|no-run-if-empty|verbose|exit)$/.test(text)) continue;
    if (/^-[nPdLsE].+$/.test(text) || /^--(max-args|max-procs|delimiter|max-lines)=/.test(text)) continue;
    if (/^-[nPdLsE]$/.test(text)) index += 1;
    else if (text === "-I") {
      index += 1;
      replace = literalText(args[index]);
    } else if (/^-I.+/.test(text)) replace = text.slice(2);
    else {
      api.judge(args.slice(index + 1));
      return `the option ${text} is not known to be harmless`;
    }
  }
  const command = args.slice(index);
  // `find` and the like print names below their start, which cannot look like options.
  const incoming: Arg = api.namesFromPipe.length > 0 ? { ...patternArg("*"), texts: api.namesFromPipe } : UNKNOWN_WORDS;
  if (command.length === 0) return undefined;
  if (replace === undefined) api.judge([...command, incoming]);
  else {
    const mark = replace;
    api.judge(
      command.map((arg) => {
        const word = literalText(arg);
        if (word === undefined || !word.includes(mark)) return arg;
        return word === mark ? incoming : UNKNOWN_WORDS;
      }),
    );
  }
  return undefined;
};

/** `test` and `[`: `-v` and `-R` evaluate the subscript of their operand, whatever its quotes. */
const test: Special = (args, { scope }) => {
  const known = args.map(literalText);
  for (const [index, text] of known.entries()) {
    const file = args[index + 1];
    if (text !== undefined && FILE_TEST.test(text) && file !== undefined) {
      const problem = existenceProblem(file, scope);
      if (problem !== undefined) return problem;
    }
    if (text === "-v" || text === "-R") {
      const operand = known[index + 1];
      if (operand === undefined || !/^\w+$/.test(operand)) return "test -v evaluates its operand";
    }
    if (text !== undefined && /\[.*[$`(]/.test(text)) return "a subscript that may be evaluated";
  }
  const unknown = args.filter((arg) => arg.kind !== "literal");
  if (unknown.some((arg) => arg.splits)) return "an unquoted word in a test";
  const operators = known.filter((text) => text !== undefined && /^(-[a-zA-Z]{1,2}|=|==|!=|<|>|=~)$/.test(text));
  if (unknown.length > 0 && (operators.length !== 1 || args.length > 5))
    return "a test whose operator is known only when it runs";
  return undefined;
};

const FILE_TEST = /^-[abcdefghkprsuwxGLNOS]$/;

const printf: Special = ([format, ...rest]) => {
  if (format === undefined) return undefined;
  const text = literalText(format);
  if (text === undefined && mayBeOption(format)) return "a format that might turn into an option";
  if (text?.startsWith("-") === true && text !== "--" && text !== "-") return "printf options evaluate a subscript";
  if (text === "--" && literalText(rest[0])?.startsWith("-v") === true) return "printf -v evaluates a subscript";
  return undefined;
};

const read: Special = (args) => {
  const parsed = parseOptions({ flags: "rs", values: "dnNptu", risky: true }, args);
  if (typeof parsed === "string") return parsed;
  const names = parsed.operands.map((arg) => literalText(arg) ?? "");
  return names.every(isOwnVariable) ? undefined : "read evaluates the subscript of its target";
};

const set: Special = (args) => {
  const words = args.map((arg) => literalText(arg) ?? "?").join(" ");
  return /^([-+][eux]+|-[eux]*o pipefail)( [-+][eux]+| -[eux]*o pipefail)*$/.test(words)
    ? undefined
    : "set shows or changes the shell's state";
};

const command: Special = (args, api) => {
  const [first, ...rest] = args;
  const text = literalText(first);
  if (text === "-v" || text === "-V")
    return rest.every((arg) => arg.kind === "literal") ? undefined : "a name known only when it runs";
  if (text === "-p" || text === "--") api.judge(rest);
  else api.judge(args);
  return undefined;
};

const timeout: Special = (args, api) => {
  let index = 0;
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]) ?? "";
    if (/^(-[fpv]+|--foreground|--preserve-status|--verbose|--(signal|kill-after)=\w+|-[ks]\w+)$/.test(text)) continue;
    if (/^(-[ks]|--signal|--kill-after)$/.test(text)) index += 1;
    else break;
  }
  if (!/^\d+(\.\d+)?[smhd]?$/.test(literalText(args[index]) ?? "")) return "a time limit that is not plain";
  api.judge(args.slice(index + 1));
  return undefined;
};

const nice: Special = (args, api) => {
  let index = 0;
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]) ?? "";
    if (/^(-\d+|-n-?\d+|--adjustment=-?\d+)$/.test(text)) continue;
    if (text === "-n") index += 1;
    else break;
  }
  api.judge(args.slice(index));
  return undefined;
};

const stdbuf: Special = (args, api) => {
  let index = 0;
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]) ?? "";
    if (/^-[ioe]$/.test(text) && /^\w+$/.test(literalText(args[index + 1]) ?? "")) index += 1;
    else if (!/^-[ioe]\w+$/.test(text)) break;
  }
  api.judge(args.slice(index));
  return undefined;
};

/** `env` alone prints every credential; before a command its assignments follow the rule for assignments. */
const env: Special = (args, api) => {
  let index = 0;
  let problem: string | undefined;
  for (; index < args.length; index += 1) {
    const text = literalText(args[index]);
    if (text === undefined || !/^(-|\w+=)/.test(text)) break;
    const [, variable, value] = /^(\w+)=([\s\S]*)$/.exec(text) ?? [];
    if (variable === undefined || value === undefined || !isSafeAssignment(variable, value))
      problem ??= "env changes the environment of the command";
  }
  if (index >= args.length) return problem ?? "prints the environment, credentials included";
  api.judge(args.slice(index));
  return problem;
};

const builtin: Special = (args, api) => {
  api.judge(args);
  return undefined;
};

const time: Special = (args, api) => {
  const index = literalText(args[0]) === "-p" ? 1 : 0;
  api.judge(args.slice(index));
  return undefined;
};

const npm: Special = (args) => {
  const words = args.map((arg) => literalText(arg) ?? "?");
  const lists =
    /^(ls|list|ll|la|why|explain)( (--depth[= ]\d+|-[agl]|--all|--json|--parseable|--long|--global|--omit=dev|@?[a-z0-9][\w@./^~-]*))*$/;
  return lists.test(words.join(" ")) || /^(run|root|prefix)$/.test(words.join(" "))
    ? undefined
    : "npm runs scripts or changes packages";
};

const tar: Special = ([mode, ...rest], { scope }) => {
  const first = literalText(mode) ?? "";
  // Letters without a dash take their values from the words behind them, in order.
  const bundle = /^[tvzjJa]*f[tvzjJa]*$/.test(first) ? literalArg(`-${first.replace("f", "")}f`) : mode;
  const parsed = parseOptions(
    {
      flags: "tvzjJa",
      values: "f",
      risky: true,
      long: "list verbose gzip bzip2 xz zstd auto-compress file= exclude= wildcards full-time",
    },
    [bundle, ...rest].flatMap((arg) => arg ?? []),
  );
  if (typeof parsed === "string") return parsed;
  const file = parsed.options.get("-f") ?? parsed.options.get("--file");
  const archive = literalText(file);
  if (!parsed.options.has("-t") && !parsed.options.has("--list")) return "tar is only known to list an archive";
  if (file === undefined || archive === undefined || archive.includes(":")) return "an archive that is not plain";
  return pathsProblem([file], scope);
};

/** Compressors change a file in its place unless they are told to print, list or test. */
const compressor: Special = (args, { scope }) => {
  const parsed = parseOptions(
    { flags: "cdltvqf123456789", risky: true, long: "stdout to-stdout decompress uncompress list test verbose quiet" },
    args,
  );
  if (typeof parsed === "string") return parsed;
  const prints = ["-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test"];
  if (parsed.operands.length > 0 && !prints.some((name) => parsed.options.has(name)))
    return "a compressor replaces the file it is given";
  return pathsProblem(parsed.operands, scope);
};

const unzip: Special = ([mode, ...files], { scope }) => {
  if (!/^-(l|v|t|lv|lq|ql|Z|Z1)$/.test(literalText(mode) ?? "")) return "unzip is only known to list an archive";
  if (files.some((arg) => mayBeOption(arg) || arg.texts[0]?.startsWith("-") === true))
    return "unzip with further options";
  return pathsProblem(files.slice(0, 1), scope);
};

const printenv: Special = (args) =>
  args.length > 0 && args.every((arg) => isPublicVariable(literalText(arg) ?? "-"))
    ? undefined
    : "prints the environment, credentials included";

const tee: Special = (args) => (args.every((arg) => literalText(arg) === "/dev/null") ? undefined : "tee writes files");

const ulimit: Special = (args) =>
  args.every((arg) => /^-[aHScdefilmnpqrstuvx]+$/.test(literalText(arg) ?? ""))
    ? undefined
    : "ulimit with a value changes a limit";

export const SPECIAL: ReadonlyMap<string, Special> = new Map<string, Special>([
  ["sed", sed],
  ["awk", awk],
  ["gawk", awk],
  ["mawk", awk],
  ["jq", jq],
  ["find", find],
  ["xargs", xargs],
  ["test", test],
  ["[", test],
  ["printf", printf],
  ["read", read],
  ["set", set],
  ["command", command],
  ["builtin", builtin],
  ["timeout", timeout],
  ["nice", nice],
  ["stdbuf", stdbuf],
  ["env", env],
  ["time", time],
  ["npm", npm],
  ["tar", tar],
  ...["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd"].map((name): [string, Special] => [
    name,
    compressor,
  ]),
  ["unzip", unzip],
  ["printenv", printenv],
  ["tee", tee],
  ["ulimit", ulimit],
]);
