import { dangerOf } from "./danger.ts";
import { ask, askHigh, deny, type Finding } from "./finding.ts";
import { gitProblem } from "./git.ts";
import type { Arg } from "./model.ts";
import { parseOptions } from "./options.ts";
import { asksForVersion, PROGRAMS, type Program } from "./programs.ts";
import { absolutePaths, mentionsCredentials, pathProblem, SUBSTITUTED_FILE } from "./scope.ts";
import { SPECIAL } from "./special.ts";
import { INTERPRETERS, NO_TRAITS, SHELLS, type Traits, traitsOf, union } from "./traits.ts";
import type { Input, Walk } from "./walk-state.ts";
import { literalText } from "./words.ts";

/** What surrounds one call. */
export type Surroundings = Input & {
  /** A redirection, not the pipe, gives the standard input. */
  readonly given: boolean;
  readonly reads: readonly string[];
  /** What substitutions and variables in its words carry. */
  readonly variables: Traits;
};

/** Programs that start what their later words say; anything before those words may be an option. */
const STARTERS =
  /^(nohup|setsid|ionice|chrt|taskset|watch|parallel|flock|strace|ltrace|script|unbuffer|exec|busybox|toybox|ssh|sshpass|docker|podman|kubectl|entr|caffeinate|firejail|proot|fakeroot|rlwrap|dbus-run-session|xvfb-run|start-stop-daemon|env|xargs|time|timeout|nice|stdbuf|command|builtin|catchsegv|valgrind|gdb|faketime|eatmydata|uv|npx|bunx|pnpm|yarn|npm)$/;
const MAX_STARTS = 5;
const MAX_STARTED = 8;
/** Rules look at every word, some of them once for each word. */
const MAX_WORDS = 100;

/** Judges one call: what it would do at worst, then whether it is known to only read. */
export function judgeCall(walk: Walk, argv: readonly Arg[], around: Surroundings): Traits {
  const [head, ...all] = argv;
  const args = all.slice(0, MAX_WORDS);
  if (all.length > MAX_WORDS) walk.findings.push(askHigh("too many words to judge"));
  if (head === undefined) {
    walk.findings.push(ask("no command"));
    return NO_TRAITS;
  }
  if (walk.started > MAX_STARTED) {
    walk.findings.push(askHigh("programs that start programs that start programs"));
    return NO_TRAITS;
  }
  walk.argvs.push(argv);
  const text = literalText(head);
  if (text === undefined) {
    walk.findings.push(
      around.variables.fetch || around.variables.decode
        ? deny("runs fetched or decoded text")
        : askHigh("the name of the command is known only when it runs"),
    );
    for (const known of head.texts) noteDanger(walk, known, args);
    return { ...NO_TRAITS, shell: true };
  }
  const name = programName(text);
  const danger = noteDanger(walk, name, args);
  const traits = union(traitsOf(name, args, around.reads, walk.scope), fileTraits(walk, name, args));
  if (text.includes("/")) {
    const taint = union(...absolutePaths(text, walk.scope).map((path) => walk.tainted.get(path) ?? NO_TRAITS));
    if (taint.fetch || taint.decode) walk.findings.push(deny("runs fetched or decoded text"));
  }
  const started = asksForVersion(name, args.map(literalText)) ? NO_TRAITS : startedText(walk, name, args, around);
  const problem = problemOf(walk, text, name, args, around);
  // A call that is known to only read is not asked about because of what its program could do with other words.
  if (problem !== undefined && !isAllowed(walk, argv)) walk.findings.push(danger ?? ask(problem));
  return union(traits, started);
}

function isAllowed(walk: Walk, argv: readonly Arg[]): boolean {
  const { allowed } = walk.scope.context;
  if (allowed === undefined) return false;
  const words = argv.map(literalText);
  return words.every((word) => word !== undefined) && allowed(words.map((word) => word ?? ""));
}

/** `/bin/ls` is `ls`; a path elsewhere stays a path, which no table knows. */
function programName(text: string): string {
  return /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/]+)$/.exec(text)?.[1] ?? text;
}

function noteDanger(walk: Walk, name: string, args: readonly Arg[]): Finding | undefined {
  const danger = dangerOf(name.split("/").at(-1) ?? name, args, walk.scope);
  if (danger?.verdict === "deny") walk.findings.push(danger);
  return danger;
}

/** What files named by the words carry since an earlier command; a shell that runs such a file is refused. */
function fileTraits(walk: Walk, name: string, args: readonly Arg[]): Traits {
  if (walk.tainted.size === 0) return NO_TRAITS;
  const paths = args.flatMap((arg) =>
    arg.texts.flatMap((text) =>
      absolutePaths(text.replace(/^(?:[\w.-]*=)?@/, "").replace(/^--?[\w-]+=@?/, ""), walk.scope),
    ),
  );
  const taint = union(...paths.map((path) => walk.tainted.get(path) ?? NO_TRAITS));
  if ((SHELLS.test(name) || INTERPRETERS.test(name) || /^(\.|source)$/.test(name)) && (taint.fetch || taint.decode)) {
    walk.findings.push(deny("runs fetched or decoded text"));
  }
  return { ...NO_TRAITS, credential: taint.credential, fetch: taint.fetch, decode: taint.decode };
}

function problemOf(
  walk: Walk,
  text: string,
  name: string,
  args: readonly Arg[],
  around: Surroundings,
): string | undefined {
  const { scope } = walk;
  if (name === "cd") return undefined;
  if (name === "git") return gitProblem(args, scope);
  if (asksForVersion(name, args.map(literalText))) return undefined;
  const special = SPECIAL.get(name);
  if (special !== undefined) {
    return special(args, {
      scope,
      namesFromPipe: around.names,
      judge: (inner) => {
        walk.started += 1;
        judgeCall(walk, inner, { ...around, names: [] });
        walk.started -= 1;
      },
    });
  }
  const program = PROGRAMS.get(name);
  if (program === undefined)
    return /^(ba|da)?sh$/.test(name) ? shellProblem(args, around) : `${text} is not known to only read`;
  return programProblem(walk, name, program, args);
}

function programProblem(walk: Walk, name: string, program: Program, args: readonly Arg[]): string | undefined {
  // These have no options that do harm, and take any text.
  if (
    program.operands === "text" &&
    program.flags === undefined &&
    program.long === undefined &&
    program.first === undefined
  )
    return undefined;
  const parsed = parseOptions(program, args);
  if (typeof parsed === "string") return `${name}: ${parsed}`;
  const { operands } = parsed;
  if (program.operands === "none" && operands.length > 0) return `${name} with a word may change something`;
  const single = (arg: Arg) => !arg.splits && (arg.kind === "literal" || arg.texts[0] === SUBSTITUTED_FILE);
  const count = operands.reduce((sum, arg) => sum + (single(arg) ? 1 : 2), 0);
  if (program.max !== undefined && count > program.max) return `${name}: a further word may be a file to write`;
  if (program.first !== undefined && operands.some((arg) => program.first?.test(literalText(arg) ?? "") !== true))
    return `${name}: a word that may change something`;
  if (program.never !== undefined && args.some((arg) => arg.texts.some((text) => program.never?.test(text))))
    return `${name}: a word that may show credentials`;
  if (parsed.globs.some((arg) => !arg.texts.every((text) => text.startsWith("!")) && mentionsCredentials([arg])))
    return "searches credential files";
  const text = program.operands === "text" || program.operands === "none";
  const pattern =
    program.operands === "pattern-paths" && !program.patternOptions?.some((option) => parsed.options.has(option));
  // An unquoted pattern may bring file names along.
  const files = pattern && operands[0]?.splits !== true ? operands.slice(1) : operands;
  for (const arg of [...(text ? [] : files), ...parsed.paths]) {
    const problem = pathProblem(arg, walk.scope);
    if (problem !== undefined) return problem;
  }
  if (!text && name !== "ls" && name !== "stat" && mentionsEnvironment(files))
    return "a file that may hold credentials";
  return undefined;
}

function mentionsEnvironment(files: readonly Arg[]): boolean {
  return (
    files.some((arg) => arg.kind === "pattern") && mentionsCredentials(files.filter((arg) => arg.kind === "pattern"))
  );
}

/** A shell is as harmless as its text, if that is written down and nothing else is said. */
function shellProblem(args: readonly Arg[], around: Surroundings): string | undefined {
  if (args.length === 2 && literalText(args[0]) === "-c" && args[1]?.kind === "literal" && !around.given)
    return undefined;
  return "starts a shell";
}

/** Judges the text or the command that this call starts. */
function startedText(walk: Walk, name: string, args: readonly Arg[], around: Surroundings): Traits {
  if (SHELLS.test(name)) return shellText(walk, args, around);
  if (name === "eval" || name === "trap") {
    const words = name === "eval" ? args : args.slice(0, 1);
    const plain = words.every((arg) => arg.kind === "literal");
    const least = plain ? ask(`${name} runs its text`) : askHigh(`${name} runs text that is known only when it runs`);
    return walk.nested(words.map((arg) => arg.texts[0] ?? "").join(" "), least);
  }
  if (name === "alias") {
    for (const arg of args)
      walk.nested((arg.texts[0] ?? "").replace(/^[^=]*=/, ""), ask("an alias changes what a name means"));
    return NO_TRAITS;
  }
  if (!STARTERS.test(name)) return NO_TRAITS;
  let traits = NO_TRAITS;
  const remote = /^(ssh|watch|parallel|script|flock|env)$/.test(name);
  for (let index = 0; index < args.length && index < MAX_STARTS; index += 1) {
    const word = literalText(args[index]);
    if (word === undefined) continue;
    if (/\s/.test(word)) {
      if (remote || /^(-S|-c|--split-string)/.test(literalText(args[index - 1]) ?? ""))
        traits = union(traits, walk.nested(word, ask(`${name} runs its text`)));
      continue;
    }
    const program = programName(word.replace(/^-S/, ""));
    const rest = args.slice(index + 1);
    noteDanger(walk, program, rest);
    if (SHELLS.test(program))
      traits = union(traits, shellText(walk, rest, around), traitsOf(program, rest, [], walk.scope));
    else
      traits = union(
        traits,
        name === "xargs" ? xargsTraits(program, rest, walk) : traitsOf(program, rest, [], walk.scope),
      );
  }
  return traits;
}

/** What a pipe brings becomes words of the command that xargs starts. */
function xargsTraits(program: string, rest: readonly Arg[], walk: Walk): Traits {
  const traits = traitsOf(program, rest, [], walk.scope);
  return traits.shell ? { ...traits, stdinShell: true } : traits;
}

function shellText(walk: Walk, args: readonly Arg[], around: Surroundings): Traits {
  const at = args.findIndex((arg) => /^-[a-zA-Z]*c$/.test(literalText(arg) ?? ""));
  if (at >= 0) {
    const script = args[at + 1];
    const text = literalText(script);
    if (text !== undefined) return walk.nested(text, undefined);
    return walk.nested(script?.texts[0] ?? "", askHigh("a shell runs text that is known only when it runs"));
  }
  const file = args.find((arg) => !/^-/.test(arg.texts[0] ?? ""));
  if (file !== undefined && !/^(-|\/dev\/stdin)$/.test(literalText(file) ?? "")) return NO_TRAITS;
  if (around.text !== undefined) return walk.nested(around.text, ask("a shell runs its input"));
  walk.findings.push(askHigh("a shell runs input that is known only when it runs"));
  return NO_TRAITS;
}
