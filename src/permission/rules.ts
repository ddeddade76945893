export type Rule = {
  matchesTool(toolName: string): boolean;
  /** Undefined: every call of the tool. */
  readonly argument: string | undefined;
};

/** Throws for a text that is no rule: one that silently never matched would be worse. */
export function parseRule(text: string): Rule {
  const match = /^([\w*.-]+)(?:\(([\s\S]*)\))?$/.exec(text.trim());
  if (match === null) throw new Error(`not a permission rule: ${text}`);
  const name = globToRegExp(match[1] ?? "");
  const argument = match[2]?.trim();
  return {
    matchesTool: (toolName) => name.test(toolName),
    argument: argument === "" || argument === "*" ? undefined : argument,
  };
}

/**
 * Compares the words of one call with the words of a rule: `git status` is exactly these, `npm run:*` these and any more.
 * A program given by its path counts by its name too.
 */
export function matchesCommand(argument: string | undefined, argv: readonly (string | undefined)[]): boolean {
  if (argument === undefined) return true;
  const open = argument.endsWith(":*");
  const words = (open ? argument.slice(0, -2) : argument).split(/\s+/).filter(Boolean);
  if (open ? argv.length < words.length : argv.length !== words.length) return false;
  return words.every((word, index) => {
    const given = argv[index];
    if (given === undefined) return false;
    return given === word || (index === 0 && !word.includes("/") && given.split("/").at(-1) === word);
  });
}

/** Compares a path with a glob: relative ones count from the workspace. */
export function matchesPath(argument: string | undefined, path: string, root: string): boolean {
  if (argument === undefined) return true;
  const base = root === "/" ? "" : root;
  return globToRegExp(argument.startsWith("/") ? argument : `${base}/${argument.replace(/^\.\//, "")}`).test(path);
}

/** `**` spans folders, `*` and `?` stay within one. */
function globToRegExp(glob: string): RegExp {
  const source = glob.replace(/\*\*\/|\*+|\?|[^\w/]/g, (token) => {
    if (token === "**/") return "(?:[^/]+/)*";
    if (token.startsWith("**")) return ".*";
    if (token === "*") return "[^/]*";
    return token === "?" ? "[^/]" : `\\${token}`;
  });
  return new RegExp(`^${source}$`, "s");
}
