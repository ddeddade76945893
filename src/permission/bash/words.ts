import type { Word, WordPart } from "unbash";
import type { Arg, Scope } from "./model.ts";
import { SUBSTITUTED_FILE } from "./scope.ts";

/** Alternatives are multiplied out up to here, then the word counts as unknown. */
const MAX_ALTERNATIVES = 64;
const UNKNOWN: Arg = { kind: "dynamic", texts: [""], splits: false };
const EMPTY: Arg = { kind: "literal", texts: [""], splits: false };

export const literalArg = (text: string): Arg => ({ kind: "literal", texts: [text], splits: false });
export const patternArg = (text: string): Arg => ({ kind: "pattern", texts: [text], splits: true });

/** The text of an argument that is known exactly. */
export function literalText(arg: Arg | undefined): string | undefined {
  return arg?.kind === "literal" ? arg.texts[0] : undefined;
}

/** True when the argument could be taken for an option although its first letter is not written down. */
export function mayBeOption(arg: Arg): boolean {
  if (arg.kind === "literal") return false;
  return arg.splits || arg.texts.some((text) => text === "" || /^[-*?[]/.test(text));
}

/** Expands braces, tildes, known variables and quotes; one word gives several arguments where braces say so. */
export function expandWord(word: Word, scope: Scope): Arg[] {
  const parts = word.parts;
  if (parts === undefined) return [word.text.startsWith("~") ? expandTilde(word.value, scope) : literalArg(word.value)];
  let results: Arg[] = [EMPTY];
  parts.forEach((part, index) => {
    const options =
      index === 0 && part.type === "Literal" && part.text.startsWith("~")
        ? [expandTilde(part.value, scope)]
        : expandPart(part, scope, index === 0);
    const next = results.flatMap((left) => options.map((right) => join(left, right)));
    results = next.length > MAX_ALTERNATIVES ? [{ ...UNKNOWN, splits: true }] : next;
  });
  return results;
}

/** Joins two pieces of a word. What follows an unknown piece is dropped: nothing can be said about it. */
function join(left: Arg, right: Arg): Arg {
  const splits = left.splits || right.splits;
  if (left.kind === "dynamic") return { ...left, splits };
  const texts = left.texts.flatMap((head) => right.texts.map((tail) => head + tail));
  if (texts.length > MAX_ALTERNATIVES) return { ...UNKNOWN, splits };
  const kind = right.kind === "dynamic" ? "dynamic" : left.kind === "pattern" ? "pattern" : right.kind;
  return { kind, texts: kind === "dynamic" ? texts.slice(0, 1) : texts, splits };
}

function expandPart(part: WordPart, scope: Scope, first = false): Arg[] {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [literalArg(part.value)];
    case "DoubleQuoted":
    case "LocaleString":
      return [
        part.parts.reduce<Arg>((left, child) => {
          const [right = UNKNOWN] = expandPart(child, scope);
          return join(left, { ...right, splits: false });
        }, EMPTY),
      ];
    case "Glob":
      return [patternArg(part.text)].map((arg) => ({ ...arg, splits: false }));
    case "BraceExpansion":
      return expandBraces(part.text, first ? scope : undefined) ?? [{ ...UNKNOWN, splits: true }];
    case "ArithmeticExpansion":
      // Always a number; which one makes no difference to any rule.
      return [literalArg("1")];
    case "SimpleExpansion":
      return [variable(part.text.slice(1), scope)];
    case "ParameterExpansion":
      if (part.prefix === "#") return [literalArg("1")];
      if (part.prefix !== undefined || part.index !== undefined || part.operation !== undefined) {
        return [{ ...UNKNOWN, splits: true }];
      }
      return [variable(part.parameter, scope)];
    case "ProcessSubstitution":
      // One word whose number is not known. Not literal: as the name of a command it is whatever the pipe brings.
      return [{ kind: "pattern", texts: [SUBSTITUTED_FILE], splits: false }];
    default:
      return [{ ...UNKNOWN, splits: true }];
  }
}

function variable(name: string, scope: Scope): Arg {
  if (name === "HOME") return literalArg(scope.context.home);
  if (name === "PWD" && scope.cwds.length === 1) return literalArg(scope.cwds[0] ?? "");
  if (/^[#?$!]$/.test(name)) return literalArg("1");
  const value = scope.variables.get(name);
  if (value === undefined || value.kind === "dynamic") return { ...UNKNOWN, splits: true };
  const plain = value.texts.every((text) => /^[^\s*?[\]\\]+$/.test(text));
  if (value.kind === "literal" && value.texts.length === 1 && plain) return literalArg(value.texts[0] ?? "");
  return { kind: "pattern", texts: value.texts, splits: !plain };
}

/** `~`, `~/x`, `~user`, `~+`; another user's home folder is unknown and so outside. */
function expandTilde(value: string, scope: Scope): Arg {
  const [head = "", ...rest] = value.split("/");
  const tail = rest.length > 0 ? `/${rest.join("/")}` : "";
  if (head === "~") return literalArg(scope.context.home + tail);
  if (head === "~+" && scope.cwds.length === 1) return literalArg((scope.cwds[0] ?? "") + tail);
  return literalArg(`/home/${head.slice(1)}${tail}`);
}

/** `{a,b}` and `{1..3}` of plain letters; anything else is left unknown. */
function expandBraces(text: string, scope: Scope | undefined): Arg[] | undefined {
  const list = /^\{([\w./:@%+=,~-]+)\}$/.exec(text)?.[1];
  if (list === undefined) return undefined;
  if (list.includes(",")) {
    return list
      .split(",")
      .map((word) => (scope !== undefined && word.startsWith("~") ? expandTilde(word, scope) : literalArg(word)));
  }
  return /^-?\w+\.\.-?\w+(\.\.-?\d+)?$/.test(list) ? [literalArg("1")] : undefined;
}
