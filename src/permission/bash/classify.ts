import { parse } from "unbash";
import { isBelow } from "../path.ts";
import { ask, askHigh, type BashVerdict, type Finding, worstOf } from "./finding.ts";
import type { Arg, BashContext } from "./model.ts";
import { NO_TRAITS } from "./traits.ts";
import { collectVariables } from "./variables.ts";
import { walkNode } from "./walk.ts";
import type { Walk } from "./walk-state.ts";

export type BashJudgement = BashVerdict & {
  /** Files and folders a read-only command reads, without links resolved. */
  readonly reads: readonly string[];
  /** Every call in the tree, for rules about programs. Unknown words have the kind `dynamic`. */
  readonly argvs: readonly (readonly Arg[])[];
};

/** Longer text is not parsed: the time of the parser grows faster than its input. */
const MAX_TEXT = 32 * 1024;
const MAX_OPENINGS = 400;
/** Each nested substitution is scanned once for every level above it. */
const MAX_SUBSTITUTIONS = 100;
/** Characters times levels: what the parser reads of nested substitutions when none of them is closed. */
const MAX_NESTED_CHARS = 512 * 1024;
const MAX_SEPARATORS = 1000;
const MAX_HERE_DOCUMENTS = 1000;
const MAX_NODES = 10_000;
const MAX_NESTED_TEXTS = 8;
/** Characters that make a text look like another one, or that shells read differently. */
const MISLEADING =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;

/**
 * Rates a command line by its syntax tree: `readonly` only if every call in it is known, with these very options, to
 * change nothing and to stay inside the workspace. Never throws; what is not understood asks. spec: S-1
 */
export function classifyCommand(text: string, context: BashContext): BashVerdict {
  const { verdict, risk, reason } = judgeCommand(text, context);
  return { verdict, risk, reason };
}

/** The same, with what a policy needs beside the verdict. */
export function judgeCommand(text: string, context: BashContext): BashJudgement {
  try {
    return settle(judgeText(text, context, 0), text, context);
  } catch {
    return { ...askHigh("the command could not be judged"), reads: [], argvs: [] };
  }
}

type Gathered = {
  findings: Finding[];
  reads: readonly string[];
  argvs: readonly (readonly Arg[])[];
  traits: ReturnType<typeof walkNode> | undefined;
};

function settle(gathered: Gathered, text: string, context: BashContext): BashJudgement {
  const findings = [...gathered.findings];
  if (/\$\{?IFS\b/.test(text)) {
    // The blanks the shell will see, so that the worst of it is rated.
    findings.push(
      askHigh("words are built from $IFS"),
      ...judgeText(text.replace(/\$\{?IFS\b\}?/g, " "), context, 1).findings,
    );
  }
  const worst = worstOf(findings);
  const { reads, argvs } = gathered;
  if (worst === undefined)
    return { verdict: "readonly", risk: "low", reason: "only reads inside the workspace", reads, argvs };
  return { ...worst, reads, argvs };
}

/** How deep parentheses and braces are nested, quotes not looked at. */
function deepest(text: string): number {
  let [depth, most] = [0, 0];
  for (const [bracket] of text.matchAll(/[(){}]/g)) {
    depth = bracket === "(" || bracket === "{" ? depth + 1 : Math.max(0, depth - 1);
    most = Math.max(most, depth);
  }
  return most;
}

function judgeText(
  text: string,
  context: BashContext,
  level: number,
  cwds: readonly string[] = [context.cwd],
): Gathered {
  const nothing = (finding: Finding): Gathered => ({ findings: [finding], reads: [], argvs: [], traits: undefined });
  if (text.trim() === "") return nothing(ask("the command is empty"));
  if (text.length > MAX_TEXT) return nothing(askHigh("the command is too long to judge"));
  if (level > MAX_NESTED_TEXTS) return nothing(askHigh("the command is nested too deeply"));
  const openings = text.match(/\$\(|\$\{|`|[<>]\(|\(\(|\(|\{/g)?.length ?? 0;
  const separators = text.match(/[;&|\n]/g)?.length ?? 0;
  if (separators > MAX_SEPARATORS) return nothing(askHigh("too many commands to judge"));
  const substitutions = text.match(/\$\(|\$\{|`|[<>]\(/g)?.length ?? 0;
  if (openings > MAX_OPENINGS || substitutions > MAX_SUBSTITUTIONS)
    return nothing(askHigh("the command is nested too deeply"));
  if (text.length * deepest(text) > MAX_NESTED_CHARS) return nothing(askHigh("the command is nested too deeply"));
  if ((text.match(/<</g)?.length ?? 0) > MAX_HERE_DOCUMENTS)
    return nothing(askHigh("too many here-documents to judge"));

  const script = parse(text);
  const walk: Walk = {
    scope: { context, cwds, variables: collectVariables(script, context, MAX_NODES), reads: new Set() },
    findings: [],
    tainted: new Map(),
    carried: new Map(),
    argvs: [],
    steps: 0,
    depth: 0,
    commands: 0,
    inLoop: 0,
    started: 0,
    nested: (inner, least) => {
      if (least !== undefined) walk.findings.push(least);
      const result = judgeText(inner, context, level + 1, walk.scope.cwds);
      walk.findings.push(...result.findings);
      for (const path of result.reads) walk.scope.reads.add(path);
      walk.argvs.push(...result.argvs);
      return result.traits ?? NO_TRAITS;
    },
  };
  if (MISLEADING.test(text)) walk.findings.push(ask("characters that are not what they look like"));
  if (![context.workspace, ...(context.allowDirs ?? [])].some((folder) => isBelow(context.cwd, folder))) {
    walk.findings.push(ask("the folder is outside the workspace"));
  }
  const traits = walkNode(walk, script);
  if (walk.commands === 0) walk.findings.push(ask("no command was found"));
  return { findings: walk.findings, reads: [...walk.scope.reads], argvs: walk.argvs, traits };
}
