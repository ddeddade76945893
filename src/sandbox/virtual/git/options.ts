import { fail } from "./failure.ts";

/** Options a sub-command knows: `flag` takes nothing, `value` takes the next argument or what is behind `=`. */
export type OptionTable = Readonly<Record<string, "flag" | "value">>;

export type Parsed = {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** What is no option; `paths` are those after `--`. */
  readonly operands: readonly string[];
  readonly paths: readonly string[];
};

/** Reads the arguments of a sub-command. An option that is not in the table ends it with 129, as git does. */
export function parseOptions(command: string, args: readonly string[], table: OptionTable): Parsed {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  const end = args.indexOf("--");
  const before = end < 0 ? [...args] : args.slice(0, end);
  const unknown = (option: string) => {
    const known = Object.keys(table).join(" ");
    const offer = known === "" ? "this one takes none" : `known here: ${known}`;
    return fail(`error: git ${command}: unknown option \`${option}'; ${offer}. ${REAL_GIT}`, 129);
  };
  for (let arg = before.shift(); arg !== undefined; arg = before.shift()) {
    if (!arg.startsWith("-") || arg === "-") {
      operands.push(arg);
      continue;
    }
    const [name = arg, given] = arg.startsWith("--") && arg.includes("=") ? splitAt(arg, arg.indexOf("=")) : [arg];
    const kind = table[name];
    if (kind === "flag" && given === undefined) flags.add(name);
    else if (kind === "value") {
      const value = given ?? before.shift();
      if (value === undefined) throw fail(`error: option \`${name}' requires a value`, 129);
      values.set(name, [...(values.get(name) ?? []), value]);
    } else if (kind === "flag") throw unknown(arg);
    else if (/^-\d+$/.test(arg) && table["-n"] === "value") values.set("-n", [arg.slice(1)]);
    else if (/^-[a-zA-Z].+/.test(arg)) {
      // `-am` is `-a -m`, `-n5` is `-n 5`.
      const rest = arg.slice(2);
      const first = arg.slice(0, 2);
      if (table[first] === "value") before.unshift(first, rest);
      else if (table[first] === "flag") before.unshift(first, `-${rest}`);
      else throw unknown(arg);
    } else throw unknown(arg);
  }
  return { flags, values, operands, paths: end < 0 ? [] : args.slice(end + 1) };
}

export const REAL_GIT = "The `http` sandbox backend has the real git.";

function splitAt(text: string, at: number): [string, string] {
  return [text.slice(0, at), text.slice(at + 1)];
}
