import { type Command, type CommandNode, forEachChild, type Redirection, type SyntaxNode, type Word } from "unbash";
import { isBelow } from "../path.ts";
import { expansionProblem } from "./expansions.ts";
import { ask, askHigh, deny } from "./finding.ts";
import { judgeCall } from "./judge.ts";
import type { Arg, Scope } from "./model.ts";
import { absolutePaths, existenceProblem, isSystemPath, mentionsCredentials, pathProblem } from "./scope.ts";
import { isOwnVariable } from "./special.ts";
import { NO_TRAITS, namesSecret, type Traits, union } from "./traits.ts";
import { isSafeAssignment } from "./variables.ts";
import { type Input, NO_INPUT, type Walk } from "./walk-state.ts";
import { expandWord, literalText } from "./words.ts";

const MAX_STEPS = 5000;
const MAX_DEPTH = 60;
/** Every command that may or may not run doubles the places the shell can be in. */
const MAX_FOLDERS = 16;
const MAX_BRACES = 5;
/** Redirections of one command, and assignments before it, that are looked at. */
const MAX_AROUND = 200;

/** Walks a node and everything below it, and answers with what flows out of it. */
export function walkNode(walk: Walk, node: SyntaxNode, input: Input = NO_INPUT): Traits {
  walk.steps += 1;
  if (walk.steps > MAX_STEPS || walk.depth > MAX_DEPTH) {
    if (walk.steps <= MAX_STEPS + 1 || walk.depth > MAX_DEPTH)
      walk.findings.push(askHigh("the command is too deep or too long to judge"));
    walk.steps = Math.max(walk.steps, MAX_STEPS + 1);
    return NO_TRAITS;
  }
  walk.depth += 1;
  try {
    return walkInner(walk, node, input);
  } finally {
    walk.depth -= 1;
  }
}

function walkInner(walk: Walk, node: SyntaxNode, input: Input): Traits {
  const problem = expansionProblem(node, walk.scope);
  if (problem !== undefined) walk.findings.push(ask(problem));
  switch (node.type) {
    case "Script":
      if (node.errors !== undefined && node.errors.length > 0)
        walk.findings.push(ask("the command could not be parsed"));
      return walkChildren(walk, node, input);
    case "Word":
      // Each brace multiplies the words; a few lines of them fill any memory.
      if ((node.parts?.filter((part) => part.type === "BraceExpansion").length ?? 0) > MAX_BRACES)
        walk.findings.push(ask("braces that multiply"));
      return walkChildren(walk, node, input);
    case "Command":
      return walkCommand(walk, node, input);
    case "TestCommand":
    case "ArithmeticCommand":
      walk.commands += 1;
      return walkChildren(walk, node, input);
    case "Pipeline":
      return walkPipeline(walk, node.commands, input);
    case "AndOr":
      return walkChain(walk, node.commands, node.operators, input);
    case "Statement":
      if (node.background === true) walk.findings.push(ask("a command that goes on in the background"));
      return walkNode(walk, node.command, input);
    case "Function":
      if (callsItself(node.name.value, node.body))
        walk.findings.push(deny("a function that starts itself without end"));
      walk.findings.push(ask("a function changes what a name means"));
      return walkNode(walk, node.body);
    case "Coproc":
      walk.findings.push(ask("a command that goes on in the background"));
      return walkChildren(walk, node, input);
    case "While":
    case "For":
    case "ArithmeticFor":
    case "Select":
      if (node.type === "Select") walk.findings.push(ask("waits for a choice"));
      if (node.type === "While" && isEndlessSpawner(node)) walk.findings.push(deny("starts programs without end"));
      walk.inLoop += 1;
      if (node.type === "For" && node.wordlist !== undefined) carryWords(walk, node.name.value, node.wordlist);
      try {
        return walkChildren(walk, node, input);
      } finally {
        walk.inLoop -= 1;
      }
    case "Redirected":
      checkRedirects(walk, node.redirects);
      return walkRedirected(walk, node, stdinText(walk, node.redirects, input));
    case "Redirect":
    case "HereString":
    case "HereDoc":
      return union(walkChildren(walk, node, NO_INPUT), redirectTraits(walk, node));
    case "SimpleExpansion":
      return walk.carried.get(node.text.slice(1)) ?? NO_TRAITS;
    case "ParameterExpansion":
      return union(walk.carried.get(node.parameter) ?? NO_TRAITS, walkChildren(walk, node, NO_INPUT));
    case "TestUnary":
      if (/^-[a-zA-Z]$/.test(node.operator) && !/^-[nzvRot]$/.test(node.operator))
        for (const arg of expandWord(node.operand, walk.scope)) {
          const outside = existenceProblem(arg, walk.scope);
          if (outside !== undefined) walk.findings.push(ask(outside));
        }
      return walkChildren(walk, node, NO_INPUT);
    default:
      return walkChildren(walk, node, input);
  }
}

/** What a group of commands reads through its redirection reaches each of them. */
function walkRedirected(walk: Walk, node: Extract<SyntaxNode, { type: "Redirected" }>, input: Input): Traits {
  const traits = walkChildren(walk, node, input);
  const secret = node.redirects.some(
    (redirect) =>
      redirect.type === "Redirect" &&
      redirect.operator === "<" &&
      redirect.target !== undefined &&
      expandWord(redirect.target, walk.scope).some((arg) => arg.texts.some((text) => namesSecret(text, walk.scope))),
  );
  if (traits.network && secret) walk.findings.push(deny("sends credentials away"));
  return secret ? { ...traits, credential: true } : traits;
}

/** The variable of a loop holds, in turn, what its words bring. */
function carryWords(walk: Walk, name: string, words: readonly Word[]): void {
  const findings = walk.findings.length;
  const brought = union(walk.carried.get(name) ?? NO_TRAITS, ...words.map((word) => walkNode(walk, word)));
  // The words are walked once more with the loop, which finds the same.
  walk.findings.length = findings;
  walk.carried.set(name, brought);
}

function walkChildren(walk: Walk, node: SyntaxNode, input: Input): Traits {
  let traits = NO_TRAITS;
  forEachChild(node, (child) => {
    traits = union(traits, walkNode(walk, child, input));
  });
  return traits;
}

function checkReads(walk: Walk, args: readonly Arg[]): void {
  for (const arg of args) {
    const problem = pathProblem(arg, walk.scope);
    if (problem !== undefined) walk.findings.push(ask(problem));
  }
}

function walkPipeline(walk: Walk, commands: readonly CommandNode[], input: Input): Traits {
  let before = NO_TRAITS;
  let incoming = input;
  for (const command of commands) {
    const traits = walkNode(walk, command, incoming);
    if (traits.stdinShell && (before.fetch || before.decode)) walk.findings.push(deny("runs fetched or decoded text"));
    if (traits.network && before.credential) walk.findings.push(deny("sends credentials away"));
    if ((traits.socket && before.stdinShell) || (before.socket && traits.stdinShell))
      walk.findings.push(deny("opens a remote shell"));
    before = union(before, traits);
    incoming = outputOf(walk, command);
  }
  return before;
}

/** What a command prints, where that can be said. */
function outputOf(walk: Walk, node: CommandNode): Input {
  if (node.type !== "Command" || node.name === undefined) return NO_INPUT;
  const args = node.args.flatMap((word) => (word.type === "Word" ? expandWord(word, walk.scope) : []));
  const name = node.name.value;
  const words = args.map((arg) => literalText(arg) ?? "?");
  if (name === "echo" || name === "printf") {
    return args.every((arg) => arg.kind === "literal") ? { text: words.join(" "), names: [] } : NO_INPUT;
  }
  if (name === "cat" && args.length === 0) return stdinText(walk, node.redirects, NO_INPUT);
  const first = words[0] ?? "";
  if (name === "find") {
    const end = args.findIndex((arg) => /^[-!(]/.test(arg.texts[0] ?? ""));
    const starts = end < 0 ? args : args.slice(0, end);
    if (mentionsCredentials(args) || starts.some((arg) => arg.kind !== "literal")) return NO_INPUT;
    return { text: undefined, names: starts.length === 0 ? ["."] : words.slice(0, starts.length) };
  }
  const lists =
    (name === "git" && first === "diff" && words.includes("--name-only")) ||
    (name === "git" && (first === "ls-files" || (first === "grep" && words.includes("-l")))) ||
    (name === "rg" &&
      words.some((word) => word === "--files" || /^-[a-zA-Z]*l$/.test(word) || word === "--files-with-matches")) ||
    (name === "grep" && words.some((word) => /^-[a-zA-Z]*l[a-zA-Z]*$/.test(word) || word === "--files-with-matches"));
  return { text: undefined, names: lists && !mentionsCredentials(args) ? ["."] : [] };
}

/** After `cd x &&` the shell is in x; after `cd x;` or `||` it may be there or not. */
function walkChain(walk: Walk, nodes: readonly SyntaxNode[], operators: readonly string[], input: Input): Traits {
  const possible = new Set(walk.scope.cwds);
  let traits = NO_TRAITS;
  nodes.forEach((node, index) => {
    const before = walk.scope.cwds;
    traits = union(traits, walkNode(walk, node, input));
    for (const cwd of walk.scope.cwds) possible.add(cwd);
    if (operators[index] === "&&" && walk.scope.cwds !== before) {
      walk.scope.cwds = walk.scope.cwds.filter(
        (cwd) => !before.includes(cwd) || walk.scope.cwds.length === before.length,
      );
    } else if (operators[index] === "||") walk.scope.cwds = [...possible];
  });
  walk.scope.cwds = [...possible];
  return traits;
}

function walkCommand(walk: Walk, node: Command, input: Input): Traits {
  const { scope } = walk;
  walk.commands += 1;
  let inner = NO_TRAITS;
  forEachChild(node, (child) => {
    inner = union(inner, walkNode(walk, child));
  });
  const [redirects, prefixes] = [node.redirects.slice(0, MAX_AROUND), node.prefix.slice(0, MAX_AROUND)];
  if (node.redirects.length > MAX_AROUND || node.prefix.length > MAX_AROUND)
    walk.findings.push(askHigh("too many redirections or assignments to judge"));
  for (const prefix of prefixes) if (prefix.type === "Assignment") checkAssignment(walk, node, prefix);
  const written = checkRedirects(walk, redirects);
  if (node.name === undefined) {
    for (const prefix of prefixes)
      if (prefix.type === "Assignment")
        walk.carried.set(prefix.name, union(walk.carried.get(prefix.name) ?? NO_TRAITS, inner));
    // What an assignment holds flows on through the variable only.
    return NO_TRAITS;
  }
  const argv = [node.name, ...node.args].flatMap((word) =>
    word.type === "Word"
      ? expandWord(word, scope)
      : [assignmentArg(word.text, word.value.type === "Word" ? word.value : undefined, scope)],
  );
  const stdin = stdinText(walk, redirects, input);
  const reads = redirects.flatMap((redirect) =>
    redirect.type === "Redirect" && redirect.operator === "<" && redirect.target
      ? expandWord(redirect.target, scope).flatMap((arg) => arg.texts)
      : [],
  );
  const own = judgeCall(walk, argv, { ...stdin, reads, variables: inner });
  const started = withoutPrefix(argv);
  if (literalText(started[0]) === "cd") changeFolder(walk, started.slice(1));
  const traits = union(own, inner);
  if (own.shell && (inner.fetch || inner.decode)) walk.findings.push(deny("runs fetched or decoded text"));
  if (own.network && traits.credential) walk.findings.push(deny("sends credentials away"));
  markFiles(walk, argv, written, traits);
  return traits;
}

/** `command` and `builtin` run what they are given in this very shell. */
function withoutPrefix(argv: readonly Arg[]): readonly Arg[] {
  let index = 0;
  while (/^(command|builtin)$/.test(literalText(argv[index]) ?? "")) {
    index += 1;
    while (/^-[p-]$/.test(literalText(argv[index]) ?? "")) index += 1;
  }
  return argv.slice(index);
}

function assignmentArg(text: string, value: Word | undefined, scope: Scope): Arg {
  const parts = value === undefined ? [] : expandWord(value, scope);
  const name = text.slice(0, text.indexOf("=") + 1);
  const [only] = parts;
  return only !== undefined && parts.length === 1
    ? { ...only, texts: only.texts.map((tail) => name + tail) }
    : { kind: "dynamic", texts: [name], splits: true };
}

function checkAssignment(
  walk: Walk,
  node: Command,
  prefix: Extract<Command["prefix"][number], { type: "Assignment" }>,
): void {
  const value = prefix.value.type === "Word" ? expandWord(prefix.value, walk.scope) : [];
  const text = value.length === 1 ? literalText(value[0]) : undefined;
  if (prefix.index !== undefined) walk.findings.push(ask("the subscript of an assignment is evaluated"));
  if (prefix.append !== true && text !== undefined && isSafeAssignment(prefix.name, text)) return;
  if (node.name === undefined) {
    if (!isOwnVariable(prefix.name))
      walk.findings.push(ask(`setting ${prefix.name} may change what other commands do`));
    return;
  }
  // Splitting for the one `read` it stands before.
  if (prefix.name === "IFS" && node.name.text === "read" && value.length === 1 && value[0]?.kind === "literal") return;
  walk.findings.push(ask(`${prefix.name} before a command may change what it runs`));
}

/** Checks where a command's redirections lead; answers with the files it writes. */
function checkRedirects(walk: Walk, redirects: readonly Redirection[]): string[] {
  const written: string[] = [];
  for (const redirect of redirects) {
    if (redirect.type !== "Redirect") continue;
    const targets = redirect.target === undefined ? [] : expandWord(redirect.target, walk.scope);
    const texts = targets.flatMap((target) => target.texts);
    if (texts.some((text) => /^\/dev\/(tcp|udp)\//.test(text)))
      walk.findings.push(deny("opens a network connection from the shell"));
    if (redirect.operator === "<" || redirect.operator === "<&") {
      if (redirect.operator === "<&" && texts.every((text) => /^(\d+-?|-)$/.test(text))) continue;
      if (redirect.target?.parts?.[0]?.type !== "ProcessSubstitution") checkReads(walk, targets);
      continue;
    }
    if (
      redirect.operator === ">&" &&
      texts.every((text) => /^(\d+-?|-)$/.test(text)) &&
      targets.every((target) => target.kind === "literal")
    )
      continue;
    if (targets.length === 1 && literalText(targets[0]) === "/dev/null") continue;
    const paths = texts.flatMap((text) => absolutePaths(text, walk.scope));
    written.push(...paths);
    if (paths.some((path) => isSystemPath(path, walk.scope.context)))
      walk.findings.push(deny("writes a system, login or start-up file"));
    else if (paths.some((path) => !isBelow(path, walk.scope.context.workspace)))
      walk.findings.push(askHigh("writes outside the workspace"));
    else walk.findings.push(ask("a redirection writes a file"));
  }
  return written;
}

function redirectTraits(walk: Walk, node: Redirection): Traits {
  if (node.type !== "Redirect" || node.target === undefined) return NO_TRAITS;
  const paths = expandWord(node.target, walk.scope).flatMap((arg) =>
    arg.texts.flatMap((text) => absolutePaths(text, walk.scope)),
  );
  return node.operator === "<" ? union(...paths.map((path) => walk.tainted.get(path) ?? NO_TRAITS)) : NO_TRAITS;
}

/** The text a here-document or here-string hands in; undefined when it is not known. */
function stdinText(walk: Walk, redirects: readonly Redirection[], input: Input): Input & { readonly given: boolean } {
  let result = { ...input, given: false };
  for (const redirect of redirects) {
    if (redirect.type === "HereDoc") result = { text: redirect.body.text, names: [], given: true };
    if (redirect.type === "HereString") {
      const words = redirect.target === undefined ? [] : expandWord(redirect.target, walk.scope);
      result = { text: words.length === 1 ? literalText(words[0]) : undefined, names: [], given: true };
    }
    if (redirect.type === "Redirect" && redirect.operator === "<") result = { text: undefined, names: [], given: true };
  }
  return result;
}

function changeFolder(walk: Walk, args: readonly Arg[]): void {
  const { scope } = walk;
  const target = args.find((arg) => !/^-[LPe]$|^--$/.test(literalText(arg) ?? ""));
  const text = target === undefined ? scope.context.home : literalText(target);
  if (walk.inLoop > 0) walk.findings.push(ask("changes the folder again and again"));
  if (text === undefined || text === "-" || args.length > 2) {
    walk.findings.push(ask("changes to a folder that is known only when it runs"));
    return;
  }
  const next = absolutePaths(text, scope);
  if (
    next.some(
      (path) => ![scope.context.workspace, ...(scope.context.allowDirs ?? [])].some((folder) => isBelow(path, folder)),
    )
  ) {
    walk.findings.push(ask("changes to a folder outside the workspace"));
  }
  for (const path of next) scope.reads.add(path);
  const cwds = [...new Set([...scope.cwds, ...next])];
  if (cwds.length > MAX_FOLDERS) walk.findings.push(ask("changes the folder too often to follow"));
  else scope.cwds = cwds;
}

/** Remembers files that now hold what flowed through the command. */
function markFiles(walk: Walk, argv: readonly Arg[], written: readonly string[], traits: Traits): void {
  if (!traits.fetch && !traits.decode && !traits.credential) return;
  const names = argv.slice(1).flatMap((arg) =>
    arg.texts.flatMap((text) => {
      if (/^https?:\/\//.test(text))
        return [
          text
            .replace(/[?#].*$/, "")
            .split("/")
            .at(-1) ?? "",
        ];
      return text.startsWith("-") ? (/^--[\w-]+=(.+)$/.exec(text)?.[1] ?? []) : [text.replace(/^of=/, "")];
    }),
  );
  const carried = { ...NO_TRAITS, fetch: traits.fetch, decode: traits.decode, credential: traits.credential };
  const files = names.flatMap((name) => (name === "" || name.length > 1000 ? [] : absolutePaths(name, walk.scope)));
  for (const path of [...files, ...written])
    walk.tainted.set(path, union(walk.tainted.get(path) ?? NO_TRAITS, carried));
}

/** A fork bomb: a function that starts itself in a pipe or in the background. */
function callsItself(name: string, body: SyntaxNode): boolean {
  let called = false;
  let multiplies = false;
  const queue: SyntaxNode[] = [body];
  for (let index = 0; index < queue.length && index < 2000; index += 1) {
    const node = queue[index];
    if (node === undefined) break;
    if (node.type === "Command" && node.name?.value === name) called = true;
    if (node.type === "Pipeline" && node.commands.length > 1) multiplies = true;
    if (node.type === "Statement" && node.background === true) multiplies = true;
    forEachChild(node, (child) => {
      queue.push(child);
    });
  }
  return called && multiplies;
}

function isEndlessSpawner(node: Extract<SyntaxNode, { type: "While" }>): boolean {
  const [first] = node.clause.commands;
  const endless = first?.command.type === "Command" && /^(true|:)$/.test(first.command.name?.value ?? "");
  return endless && node.body.commands.some((statement) => statement.background === true);
}
