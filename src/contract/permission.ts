import { z } from "zod";
import type { Usage } from "./model.ts";
import type { SandboxFiles } from "./sandbox.ts";
import type { ToolMetadata } from "./tools.ts";

/** G-1: `default` as S-1 says; `ask_edits` asks for file writes too; `plan` runs nothing that writes; `bypass` keeps only denials. */
export const PermissionMode = z.enum(["default", "ask_edits", "plan", "bypass"]);
export type PermissionMode = z.infer<typeof PermissionMode>;

/** A rule: `Tool`, or `Tool(argument)`; `*` and `**` in the name and in path arguments. */
export const PermissionRule = z
  .string()
  .max(512)
  .regex(/^[\w*.-]+(?:\([\s\S]*\))?$/, "a permission rule looks like Tool or Tool(argument)");

const RuleList = z.array(PermissionRule).max(256);

/** Rules beside the classes. A denial wins over a question over a pass, wherever the rule comes from. */
export const PermissionRules = z.strictObject({
  allow: RuleList.optional(),
  ask: RuleList.optional(),
  deny: RuleList.optional(),
});
export type PermissionRules = z.infer<typeof PermissionRules>;

/** Joins rules of several owners; an undefined one adds nothing. */
export function joinRules(...all: readonly (PermissionRules | undefined)[]): PermissionRules {
  const list = (kind: keyof PermissionRules): string[] => all.flatMap((rules) => rules?.[kind] ?? []);
  return { allow: list("allow"), ask: list("ask"), deny: list("deny") };
}

/**
 * What "allow always in this session" stands for: calls of the tool whose argument is the same: the command's text, the
 * file a path leads to, the host; without an argument every call of the tool.
 */
export const Grant = z.object({ tool: z.string(), argument: z.string().optional() });
export type Grant = z.infer<typeof Grant>;

/** A call to be judged. `input` has passed the tool's schema. */
export type PermissionCall = {
  readonly toolName: string;
  readonly metadata: ToolMetadata;
  readonly input: Readonly<Record<string, unknown>>;
  readonly mode: PermissionMode;
  /** Rules of the run, beside the deployment's. */
  readonly rules?: PermissionRules | undefined;
  /** What a person has allowed for the rest of the session. */
  readonly grants?: readonly Grant[] | undefined;
  readonly cwd: string;
  readonly root: string;
  /** Resolves links; the check never trusts the text of a path. */
  readonly files: Pick<SandboxFiles, "realPath">;
};

/** The verdict, with a reason in plain words for the model and the user. */
export type PermissionVerdict = {
  readonly decision: "allow" | "ask" | "deny";
  readonly reason: string;
  readonly risk: "low" | "medium" | "high";
  /** Of a question: what an answer for the whole session would allow. */
  readonly grant?: Grant | undefined;
  /** A handler may rewrite the input (D-1). */
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
};

/** Decides what a call may do (D-1). One that throws counts as a denial. */
export type PermissionPolicy = { check(call: PermissionCall): Promise<PermissionVerdict> };

/** A call the classifier is asked about, and why the policy wants a question. */
export type ClassifyRequest = {
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly reason: string;
  readonly risk: PermissionVerdict["risk"];
  /** What the user asked for last. */
  readonly goal: string;
  readonly cwd: string;
};

/** What the classifier says (P-3). `usage` null: the provider told nothing. */
export type Classification = {
  readonly decision: "allow" | "ask";
  readonly reason: string;
  readonly thinking: string;
  /** `model`: the fast model has spoken; `failed`: it could not be asked or understood, so the question stays. */
  readonly stage: "model" | "failed";
  readonly usage: Usage | null;
  readonly costNano: number;
  readonly durationMs: number;
};

/** An optional second look at a question by the fast model (S-2): it can answer it with yes below a set risk, nothing else. */
export type PermissionClassifier = {
  readonly maxRisk: PermissionVerdict["risk"];
  /** Never throws but for an abort of `signal`. */
  classify(request: ClassifyRequest, signal: AbortSignal): Promise<Classification>;
};

export const RISKS = ["low", "medium", "high"] as const;
