import type { Arg } from "./model.ts";
import { literalArg, literalText, mayBeOption } from "./words.ts";

/** The options a program may get without a question; all others are unknown and so ask. */
export type OptionSpec = {
  /** Short options without a value. */
  readonly flags?: string;
  /** Short options with a value. */
  readonly values?: string;
  /** Short options that may have a value right behind the letter; the next word is never theirs. */
  readonly attached?: string;
  /** Long options, blank-separated; `name=` takes a value, `name?` may have one after `=`. */
  readonly long?: string;
  /** Single-dash long names (`find -name`) are none of our business here. `-5` is an option. */
  readonly numeric?: boolean;
  /** Options whose value is a file that is read. */
  readonly paths?: readonly string[];
  /** Options whose value picks the files by name that are searched. */
  readonly globs?: readonly string[];
  /** Has options that write or run something, so a word that might be one must not pass. */
  readonly risky?: boolean;
};

export type ParsedOptions = {
  readonly operands: readonly Arg[];
  /** Option name with dashes, to its value or `undefined`. */
  readonly options: ReadonlyMap<string, Arg | undefined>;
  readonly paths: readonly Arg[];
  readonly globs: readonly Arg[];
};

/** Reads options as GNU programs do (mixed with operands, until `--`). Answers with a text when one is not on the list. */
export function parseOptions(spec: OptionSpec, args: readonly Arg[]): ParsedOptions | string {
  const operands: Arg[] = [];
  const paths: Arg[] = [];
  const globs: Arg[] = [];
  const options = new Map<string, Arg | undefined>();
  const longs = new Set((spec.long ?? "").split(" ").filter(Boolean));
  const queue = [...args];
  let ended = false;

  const put = (name: string, value?: Arg) => {
    options.set(name, value);
    if (value === undefined) return;
    if (spec.paths?.includes(name) === true) paths.push(value);
    if (spec.globs?.includes(name) === true) globs.push(value);
    // An unquoted unknown may bring operands along.
    if (value.splits) operands.push(value);
  };

  for (let arg = queue.shift(); arg !== undefined; arg = queue.shift()) {
    if (ended) {
      operands.push(arg);
      continue;
    }
    const text = literalText(arg);
    if (text === undefined) {
      const problem = looseProblem(spec, arg, longs);
      if (problem !== undefined) return problem;
      const name = /^--[\w-]+/.exec(arg.texts[0] ?? "")?.[0];
      if (name === undefined) operands.push(arg);
      else put(name, { ...arg, texts: arg.texts.map((known) => known.slice(name.length + 1)) });
      continue;
    }
    if (text === "--") ended = true;
    else if (!text.startsWith("-") || text === "-") operands.push(arg);
    else if (spec.numeric === true && /^-\d+$/.test(text)) put(text);
    else if (text.startsWith("--")) {
      const [name = "", ...rest] = text.slice(2).split("=");
      if (rest.length > 0) {
        if (!longs.has(`${name}=`) && !longs.has(`${name}?`)) return `the option --${name} is not known to be harmless`;
        put(`--${name}`, literalArg(rest.join("=")));
      } else if (longs.has(name) || longs.has(`${name}?`)) put(`--${name}`);
      else if (longs.has(`${name}=`)) {
        const value = queue.shift();
        if (value === undefined) return `the option --${name} has no value`;
        put(`--${name}`, value);
      } else return `the option --${name} is not known to be harmless`;
    } else {
      const problem = readCluster(spec, text.slice(1), queue, put);
      if (problem !== undefined) return problem;
    }
  }
  return { operands, options, paths, globs };
}

function readCluster(
  spec: OptionSpec,
  letters: string,
  queue: Arg[],
  put: (name: string, value?: Arg) => void,
): string | undefined {
  for (let index = 0; index < letters.length; index += 1) {
    const letter = letters.charAt(index);
    if (spec.flags?.includes(letter) === true) {
      put(`-${letter}`);
      continue;
    }
    if (spec.attached?.includes(letter) === true) {
      const value = letters.slice(index + 1);
      put(`-${letter}`, value === "" ? undefined : literalArg(value));
      return undefined;
    }
    if (spec.values?.includes(letter) !== true) return `the option -${letter} is not known to be harmless`;
    const rest = letters.slice(index + 1);
    const value = rest !== "" ? literalArg(rest) : queue.shift();
    if (value === undefined) return `the option -${letter} has no value`;
    put(`-${letter}`, value);
    return undefined;
  }
  return undefined;
}

/** A word that is not literal: fine as an operand when it cannot be an option, or after a known `--name=`. */
function looseProblem(spec: OptionSpec, arg: Arg, longs: ReadonlySet<string>): string | undefined {
  const known = arg.texts.filter((text) => text.startsWith("-"));
  if (known.length > 0) {
    const names = new Set(arg.texts.map((text) => /^--([\w-]+)=/.exec(text)?.[1]));
    const [name] = names;
    const isKnown = name !== undefined && (longs.has(`${name}=`) || longs.has(`${name}?`));
    if (!arg.splits && names.size === 1 && isKnown && spec.paths?.includes(`--${name}`) !== true) return undefined;
    return "an option is known only when it runs";
  }
  if (spec.risky === true && mayBeOption(arg)) return "a word might turn into an option";
  return undefined;
}
