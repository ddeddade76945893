import type { Finding } from "./finding.ts";
import type { Arg, Scope } from "./model.ts";
import type { Traits } from "./traits.ts";

/** What a walk gathers. One per text; nested texts have their own and hand their findings up. */
export type Walk = {
  readonly scope: Scope;
  readonly findings: Finding[];
  /** Files that hold fetched or decoded text, or credentials, since an earlier command. */
  readonly tainted: Map<string, Traits>;
  /** What assigned variables carry. */
  readonly carried: Map<string, Traits>;
  readonly argvs: (readonly Arg[])[];
  /** Judges a text as a script of its own; answers with its traits. */
  nested(text: string, least: Finding | undefined): Traits;
  steps: number;
  depth: number;
  commands: number;
  inLoop: number;
  /** Calls started by the call that is being judged. */
  started: number;
};

/** Text that reaches a command's standard input and is known. */
export type Input = {
  readonly text: string | undefined;
  /** Where the files are that the input names, one a line; empty when it is anything else. */
  readonly names: readonly string[];
};
export const NO_INPUT: Input = { text: undefined, names: [] };
