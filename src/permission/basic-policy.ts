import type { PermissionCall, PermissionPolicy, PermissionVerdict } from "../contract/permission.ts";
import { checkUrl } from "../shared/egress.ts";
import { classifyPath } from "./path.ts";

/**
 * The permission check without a command classifier: what only reads passes, files inside the workspace pass, everything
 * else asks; a shell command always asks. Fails closed. spec: S-1, G-1
 */
export function createBasicPolicy(options: { readonly allowedDomains: readonly string[] }): PermissionPolicy {
  return {
    async check(call) {
      return inMode(await byClass(call, options.allowedDomains), call);
    },
  };
}

async function byClass(call: PermissionCall, allowedDomains: readonly string[]): Promise<PermissionVerdict> {
  switch (call.metadata.permissionClass) {
    case "readonly":
      return { decision: "allow", reason: "it only reads", risk: "low" };
    case "file":
      return filePath(call);
    case "webfetch":
      return webAddress(call, allowedDomains);
    case "bash":
      return { decision: "ask", reason: "shell commands need permission", risk: "medium" };
    case "generic":
      return { decision: "ask", reason: `${call.toolName} needs permission`, risk: "medium" };
    default:
      return call.metadata.permissionClass satisfies never;
  }
}

async function filePath({ input, metadata, cwd, root, files }: PermissionCall): Promise<PermissionVerdict> {
  const given = input.file_path ?? input.path;
  const path = typeof given === "string" ? given : cwd;
  const op = metadata.readOnly ? "read" : "write";
  const place = await classifyPath({ op, path, cwd, root }, files.realPath);
  switch (place.verdict) {
    case "inside":
      return { decision: "allow", reason: "the path is inside the workspace", risk: "low" };
    case "protected":
      if (op === "read" && !place.credential) return { decision: "allow", reason: "it only reads", risk: "low" };
      return { decision: "ask", reason: place.reason, risk: "high" };
    default:
      return { decision: "deny", reason: place.reason, risk: "high" };
  }
}

async function webAddress({ input }: PermissionCall, allowDomains: readonly string[]): Promise<PermissionVerdict> {
  const url = typeof input.url === "string" ? input.url : "";
  const { verdict, reason } = await checkUrl(url, { allowDomains });
  if (verdict === "allow" && allowDomains.length > 0) return { decision: "allow", reason, risk: "low" };
  if (verdict === "allow" || verdict === "ask") {
    return { decision: "ask", reason: "the address is not on the list of allowed domains", risk: "medium" };
  }
  return { decision: "deny", reason, risk: "high" };
}

/** What the mode makes of a verdict; a denial stays one in every mode. */
function inMode(verdict: PermissionVerdict, call: PermissionCall): PermissionVerdict {
  if (verdict.decision === "deny") return verdict;
  switch (call.mode) {
    case "plan":
      if (call.metadata.readOnly || call.metadata.permissionClass === "readonly") return verdict;
      return { decision: "deny", reason: "plan mode: nothing that writes runs", risk: verdict.risk };
    case "ask_edits":
      if (call.metadata.permissionClass !== "file" || call.metadata.readOnly) return verdict;
      return { decision: "ask", reason: "file changes need permission in this mode", risk: verdict.risk };
    case "bypass":
      return { ...verdict, decision: "allow" };
    case "default":
      return verdict;
    default:
      return call.mode satisfies never;
  }
}
