import type { SessionFacts } from "./facts.ts";
import type { RunConfig } from "./log.ts";
import type { ModelRequest } from "./model.ts";
import type { CachePrefix } from "./prompt-parts.ts";

/** What a section may read (B-6): plain facts of the session, collected by whoever starts the run. */
export type PromptContext = {
  /** Absolute path of the shell's working directory. */
  readonly cwd: string;
  /** Absolute path of the workspace. */
  readonly root: string;
  /** Sandbox backend: `virtual`, `http`, `cloudflare`. */
  readonly backend: string;
  readonly model: string;
  readonly provider: string;
  readonly toolDescriptions: readonly NamedText[];
  readonly skills: readonly NamedText[];
  /** The memory's index, ready to show; undefined = there is none. */
  readonly memory: string | undefined;
  /** The repository of the workspace; undefined = none. `branch` is undefined when no branch is checked out. */
  readonly git: { readonly branch: string | undefined; readonly dirty: boolean; readonly root: string } | undefined;
  /** Text the caller adds to the prompt, as it is. */
  readonly appendPrompt: string | undefined;
  /** Text the deployment's self-improvement adds to the prompt, as it is. */
  readonly evolveFragment: string | undefined;
  /** The language answers should be in, as a person would name it ("German") or as a tag ("de"). */
  readonly language: string | undefined;
  /** The day, such as 2026-11-08. */
  readonly date?: string | undefined;
};

export type NamedText = { readonly name: string; readonly description: string };

type Compute = (context: PromptContext) => string;

/** Text that never changes: providers cache it over sessions. */
export type StaticSection = { readonly kind: "static"; readonly name: string; readonly text: string };
/** Computed once a session, and again after clear and compact (B-2). */
export type DynamicSection = { readonly kind: "dynamic"; readonly name: string; readonly compute: Compute };
/** Computed each turn, which ends the cached prefix at every change; `reason` says why that is worth it. */
export type VolatileSection = {
  readonly kind: "volatile";
  readonly name: string;
  readonly compute: Compute;
  readonly reason: string;
};
export type PromptSection = StaticSection | DynamicSection | VolatileSection;

/**
 * A system prompt in named sections (B-2). A name stands once in a bundle: overlays, stored texts and cache reports go by
 * it. The functions are called for every prompt and must give the same list each time.
 */
export type PromptBundle = {
  staticSections(): readonly StaticSection[];
  dynamicSections(): readonly (DynamicSection | VolatileSection)[];
};

/** A section with its text, as it goes to the model. */
export type AssembledSection = {
  readonly name: string;
  readonly kind: PromptSection["kind"];
  readonly text: string;
  /** Of a volatile section. */
  readonly reason?: string | undefined;
};

/** Dynamic texts as a session keeps them: they hold for one bundle and one model, which `tie` names. */
export type StoredPrompt = { readonly tie: string; readonly texts: Readonly<Record<string, string>> };

/** The prompt of one model call. */
export type Prompt = {
  readonly system: ModelRequest["system"];
  readonly stored: StoredPrompt;
  readonly prefix: CachePrefix;
  /** Of all that stands before the messages, tools included; an estimate. */
  readonly tokens: number;
};

/** Where a prompt leaves the one before it, which is where cached tokens end. */
export type CacheBreak = {
  /** The first section that differs; `tool_definitions` for the tools. */
  readonly section: string;
  readonly kind: PromptSection["kind"] | "tools";
  readonly change: "changed" | "added" | "removed";
  readonly reason?: string | undefined;
};

/** Makes the prompts of a run's model calls; `stored` by `tie` holds what the session has already. */
export type PromptPort = {
  compose(config: RunConfig, facts: SessionFacts, stored: ReadonlyMap<string, StoredPrompt["texts"]>): Promise<Prompt>;
  /** undefined: the newer prompt repeats the older one. */
  compare(before: CachePrefix, now: CachePrefix): CacheBreak | undefined;
};
