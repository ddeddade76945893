/**
 * What a word of the text becomes. `literal`: exactly `texts[0]`. `pattern`: names that match one of `texts`, or one of
 * several known texts. `dynamic`: unknown; `texts[0]` is the part before the unknown.
 */
export type Arg = {
  readonly kind: "literal" | "pattern" | "dynamic";
  readonly texts: readonly string[];
  /** Unquoted and not literal: may become no word or several. */
  readonly splits: boolean;
};

/** Where a command runs. */
export type BashContext = {
  readonly workspace: string;
  readonly cwd: string;
  readonly home: string;
  /** Further folders that may be read. */
  readonly allowDirs?: readonly string[] | undefined;
  /** Calls a rule lets pass; what is refused stays refused, and the rest of the text is judged as ever. */
  readonly allowed?: ((argv: readonly string[]) => boolean) | undefined;
};

/** What a variable of the text can hold, over all assignments anywhere in it. */
export type VariableValue = Pick<Arg, "kind" | "texts">;

/** The state of a walk: every folder the shell may be in, and what variables may hold. */
export type Scope = {
  readonly context: BashContext;
  cwds: readonly string[];
  readonly variables: ReadonlyMap<string, VariableValue>;
  /** Files and folders whose place was judged by their text, for a check against links. */
  readonly reads: Set<string>;
};
