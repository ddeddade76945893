import type { Tool } from "../contract/tools.ts";
import type { EngineDeps } from "./deps.ts";
import type { SessionFold } from "./log/fold.ts";
import type { Call, RunState } from "./log/run-state.ts";

/** What is to become of a call that has no result yet. Anything unclear is denied, with a reason the model can read. */
export type Judgement =
  | {
      readonly kind: "run";
      readonly tool: Tool;
      readonly input: Readonly<Record<string, unknown>>;
      readonly reason: string;
    }
  | {
      readonly kind: "ask";
      readonly tool: Tool;
      readonly input: Readonly<Record<string, unknown>>;
      readonly message: string;
    }
  /** `denied`: forbidden (audited as blocked); else the call itself is no good. */
  | { readonly kind: "refuse"; readonly message: string; readonly denied: boolean };

/** Judges one call: known tool, sound input, permission (D-1, S-1). Fails closed. */
export async function judge(call: Call, fold: SessionFold, run: RunState, deps: EngineDeps): Promise<Judgement> {
  const { block, at } = call;
  const tool = deps.tools.get(block.name);
  if (!tool) return bad(`error: unknown tool ${JSON.stringify(block.name.slice(0, 128))}`);
  if (block.input_error) return bad("error: the tool's input is not a JSON object; call it again with valid JSON");
  if (at.phase === "answered" && !at.allow) return { kind: "refuse", message: denial(at.reason), denied: true };
  const raw = at.phase === "answered" && at.updatedInput ? at.updatedInput : block.input;
  const parsed = tool.input.safeParse(raw);
  if (!parsed.success) return bad(`error: invalid input for ${tool.name}: ${issues(parsed.error.issues)}`);
  const input = parsed.data as Readonly<Record<string, unknown>>;
  const secrets = secretsIn(tool, input, deps);
  if (secrets > 0) {
    deps.observe("secret_scan_blocked", { tool: tool.name, count: secrets });
    return {
      kind: "refuse",
      message: denial(`secret_detected:count=${secrets}; a file must not hold a secret`),
      denied: true,
    };
  }
  if (at.phase === "answered") return { kind: "run", tool, input, reason: at.reason };
  const verdict = await check(tool, input, fold, run, deps);
  if (verdict.decision === "deny") return { kind: "refuse", message: denial(verdict.reason), denied: true };
  const chosen = verdict.updatedInput ?? input;
  if (verdict.decision === "allow") return { kind: "run", tool, input: chosen, reason: verdict.reason };
  if (!run.config.interactive) {
    const why = "this run is stateless, so nobody can be asked for permission";
    return { kind: "refuse", message: denial(`${why} (${verdict.reason})`), denied: true };
  }
  return { kind: "ask", tool, input: chosen, message: question(tool, chosen, verdict.reason) };
}

async function check(
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  fold: SessionFold,
  run: RunState,
  deps: EngineDeps,
) {
  try {
    return await deps.permission.check({
      toolName: tool.name,
      metadata: tool.metadata,
      input,
      mode: run.config.permission_mode,
      cwd: fold.facts.cwd,
      root: deps.sandbox.root,
      files: deps.sandbox.files,
    });
  } catch {
    return { decision: "deny", reason: "the permission check failed", risk: "high", updatedInput: undefined } as const;
  }
}

/** How many secrets a file tool would store; the path is exempt or not as the guard is set (S-3). */
function secretsIn(tool: Tool, input: Readonly<Record<string, unknown>>, deps: EngineDeps): number {
  const { auditOperation } = tool.metadata;
  if (auditOperation !== "write" && auditOperation !== "edit") return 0;
  const text = input.content ?? input.new_string;
  return typeof text === "string" ? deps.guard.scan(tool.resource(input), text).length : 0;
}

function bad(message: string): Judgement {
  return { kind: "refuse", message, denied: false };
}

function denial(reason: string): string {
  return `error: permission denied: ${reason}`;
}

function question(tool: Tool, input: Readonly<Record<string, unknown>>, reason: string): string {
  const resource = tool.resource(input);
  const shown = resource.length > 500 ? `${resource.slice(0, 500)}…` : resource;
  return `${tool.name} wants to run: ${shown}${reason ? ` (${reason})` : ""}`;
}

function issues(list: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  return list
    .slice(0, 5)
    .map((issue) => (issue.path.length > 0 ? `${issue.path.map(String).join(".")}: ${issue.message}` : issue.message))
    .join("; ");
}
