import type { DecisionKind } from "../contract/log.ts";
import type { Grant, PermissionVerdict } from "../contract/permission.ts";
import type { Tool } from "../contract/tools.ts";
import type { Agent } from "./agent.ts";
import type { EngineDeps } from "./deps.ts";
import type { Call } from "./log/run-state.ts";

type Input = Readonly<Record<string, unknown>>;

export type Question = {
  readonly kind: "ask";
  readonly decision: DecisionKind;
  readonly tool: Tool;
  readonly input: Input;
  readonly message: string;
  readonly reason: string;
  readonly risk: PermissionVerdict["risk"];
  readonly grant: Grant | undefined;
};

/** What is to become of a call that has no result yet. Anything unclear is denied, with a reason the model can read. */
export type Judgement =
  | {
      readonly kind: "run";
      readonly tool: Tool;
      readonly input: Input;
      readonly reason: string;
      /** A person changed the input. */
      readonly rewritten: boolean;
      /** The policy changed the input, so that it stands nowhere in the log yet. */
      readonly byPolicy: boolean;
      /** Nobody was asked, and the call may not be undone. */
      readonly risky: boolean;
    }
  | Question
  /** `denied`: forbidden (audited as blocked); else the call itself is no good. */
  | { readonly kind: "refuse"; readonly message: string; readonly denied: boolean };

/** What the model reads when nobody says yes to what cannot be undone (D-4). */
const DENIED_AT_CHECKPOINT = "error: tool execution denied at checkpoint";

/** Judges one call: known tool, sound input, permission (D-1, S-1). Fails closed. */
export async function judge(call: Call, agent: Agent): Promise<Judgement> {
  const { deps, run } = agent;
  const { block, at } = call;
  const tool = deps.tools.get(block.name);
  if (!tool) return bad(`error: unknown tool ${JSON.stringify(block.name.slice(0, 128))}`);
  const own = run.config.agent?.tools;
  if (own && !own.includes(tool.name)) {
    return refuse(`error: ${tool.name} is not available to this agent; it may use ${own.join(", ") || "no tools"}`);
  }
  if (block.input_error) return bad("error: the tool's input is not a JSON object; call it again with valid JSON");
  if (at.phase === "answered" && !at.allow) return refuse(denialOf(at));
  const rewritten = at.phase === "answered" && at.rewritten;
  const parsed = tool.input.safeParse(at.phase === "answered" ? at.input : block.input);
  if (!parsed.success) return bad(`error: invalid input for ${tool.name}: ${issues(parsed.error.issues)}`);
  const input = parsed.data as Input;
  const secrets = secretsIn(tool, input, deps);
  if (secrets > 0) {
    deps.observe("secret_scan_blocked", { tool: tool.name, count: secrets });
    return refuse(denial(`secret_detected:count=${secrets}; a file must not hold a secret`));
  }
  const verdict = await check(tool, input, agent);
  if (verdict.decision === "deny") return refuse(denial(verdict.reason));
  const said = { kind: "run", tool, rewritten, byPolicy: false } as const;
  // What a person agreed to runs as they saw it, whatever the policy would make of it now.
  if (at.phase === "answered") return { ...said, input, reason: at.reason, risky: false };
  return weigh(tool, verdict.updatedInput ?? input, verdict, call);
}

/** The call may be allowed: by whom, and whether somebody must be asked first. */
function weigh(tool: Tool, input: Input, verdict: PermissionVerdict, { at }: Call): Judgement {
  const { metadata } = tool;
  const decision: DecisionKind | undefined = metadata.planApproval
    ? "plan_approval"
    : metadata.requiresCheckpoint
      ? "checkpoint"
      : verdict.decision === "ask"
        ? "permission"
        : undefined;
  const classified = at.phase === "classified" && at.allow;
  if (decision === undefined || (decision === "permission" && classified)) {
    const reason = at.phase === "classified" ? `the classifier allowed it: ${at.reason}` : verdict.reason;
    const byPolicy = verdict.updatedInput !== undefined;
    return { kind: "run", tool, input, reason, rewritten: false, byPolicy, risky: verdict.risk === "high" };
  }
  const { reason, risk, grant } = verdict;
  const message = question(tool, input, decision === "permission" ? reason : "");
  return {
    kind: "ask",
    decision,
    tool,
    input,
    message,
    reason,
    risk,
    grant: decision === "permission" ? grant : undefined,
  };
}

/** What becomes of a question in a run that nobody can be asked in (H-2). */
export function unanswerable({ decision, reason }: Question): Extract<Judgement, { kind: "refuse" }> {
  if (decision === "checkpoint") return refuse(DENIED_AT_CHECKPOINT);
  return refuse(denial(`this run is stateless, so nobody can be asked for permission (${reason})`));
}

/** The policy's word, or a denial when it fails or takes too long: its look-ups may go to a sandbox that hangs. */
async function check(tool: Tool, input: Input, agent: Agent): Promise<PermissionVerdict> {
  const { deps, run, fold, tree, signal } = agent;
  const own = await ownFolder(tool, input, agent);
  if (own === "outside")
    return deny(`this agent may write below ${run.config.agent?.write_dir} only, with Write and Edit`);
  const done = new AbortController();
  const slow = deps
    .delay(deps.limits.permissionCheckMs, AbortSignal.any([signal, done.signal]))
    .then(() => deny("the permission check took too long"));
  try {
    const verdict = await Promise.race([
      slow,
      deps.permission.check({
        toolName: tool.name,
        metadata: tool.metadata,
        input,
        mode: run.mode,
        rules: run.config.rules,
        grants: tree.grants,
        cwd: fold.facts.cwd,
        root: deps.sandbox.root,
        files: deps.sandbox.files,
      }),
    ]);
    signal.throwIfAborted();
    // Memory lies where files are protected from everybody else; this agent is there to write it.
    const its = own === "inside" && verdict.decision === "ask" && run.mode !== "ask_edits";
    return its ? { ...verdict, decision: "allow", reason: "the agent's own folder" } : verdict;
  } catch {
    signal.throwIfAborted();
    return deny("the permission check failed");
  } finally {
    done.abort();
  }
}

function deny(reason: string): PermissionVerdict {
  return { decision: "deny", reason, risk: "high" };
}

/** Where a call of an agent that may write in one folder only would write; `free`: the rule is not for this call. */
async function ownFolder(tool: Tool, input: Input, { run, deps, fold }: Agent): Promise<"free" | "inside" | "outside"> {
  const folder = run.config.agent?.write_dir;
  if (folder === undefined || tool.metadata.readOnly || tool.delegate) return "free";
  const given = input.file_path;
  if (typeof given !== "string" || given.split("/").includes("..")) return "outside";
  const path = given.startsWith("/") ? given : `${fold.facts.cwd}/${given}`;
  if (!path.startsWith(`${folder}/`)) return "outside";
  const real = await deps.sandbox.files.realPath(path);
  return real.ok && real.value.startsWith(`${folder}/`) ? "inside" : "outside";
}

/** How many secrets a file tool would store; the path is exempt or not as the guard is set (S-3). */
function secretsIn(tool: Tool, input: Input, deps: EngineDeps): number {
  const { auditOperation } = tool.metadata;
  if (auditOperation !== "write" && auditOperation !== "edit") return 0;
  const text = input.content ?? input.new_string;
  return typeof text === "string" ? deps.guard.scan(tool.resource(input), text).length : 0;
}

function bad(message: string): Judgement {
  return { kind: "refuse", message, denied: false };
}

function refuse(message: string): Extract<Judgement, { kind: "refuse" }> {
  return { kind: "refuse", message, denied: true };
}

function denial(reason: string): string {
  return `error: permission denied: ${reason}`;
}

function denialOf(answer: Extract<Call["at"], { phase: "answered" }>): string {
  if (answer.kind === "plan_approval") return `error: the plan was not approved: ${answer.reason}`;
  if (answer.kind !== "checkpoint") return denial(answer.reason);
  return answer.by === "user" ? `${DENIED_AT_CHECKPOINT}: ${answer.reason}` : DENIED_AT_CHECKPOINT;
}

function question(tool: Tool, input: Input, reason: string): string {
  const resource = tool.resource(input);
  const shown = resource.length > 500 ? `${resource.slice(0, 500)}…` : resource;
  return `${tool.name} wants to run: ${shown}${reason ? ` (${reason})` : ""}`;
}

export function issues(list: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  return list
    .slice(0, 5)
    .map((issue) => (issue.path.length > 0 ? `${issue.path.map(String).join(".")}: ${issue.message}` : issue.message))
    .join("; ");
}
