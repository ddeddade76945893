import { z } from "zod";
import type { SandboxFiles } from "./sandbox.ts";
import type { ToolMetadata } from "./tools.ts";

/** G-1: `default` as S-1 says; `ask_edits` asks for file writes too; `plan` runs nothing that writes; `bypass` keeps only denials. */
export const PermissionMode = z.enum(["default", "ask_edits", "plan", "bypass"]);
export type PermissionMode = z.infer<typeof PermissionMode>;

/** A call to be judged. `input` has passed the tool's schema. */
export type PermissionCall = {
  readonly toolName: string;
  readonly metadata: ToolMetadata;
  readonly input: Readonly<Record<string, unknown>>;
  readonly mode: PermissionMode;
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
  /** A handler may rewrite the input (D-1). */
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
};

/** Decides what a call may do (D-1). One that throws counts as a denial. */
export type PermissionPolicy = { check(call: PermissionCall): Promise<PermissionVerdict> };
