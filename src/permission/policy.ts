import type { PermissionCall, PermissionPolicy, PermissionVerdict } from "../contract/permission.ts";
import type { PermissionClass } from "../contract/tools.ts";
import { checkUrl, isAllowedDomain, type Resolve } from "../shared/egress.ts";
import { judgeCommand } from "./bash/classify.ts";
import { literalText } from "./bash/words.ts";
import { classifyPath, type PathVerdict, tidyPath } from "./path.ts";
import { matchesCommand, matchesPath, type PermissionRules, parseRule, type Rule } from "./rules.ts";

export type PolicyOptions = {
  /** Domains WebFetch may read without a question; a name covers its subdomains. */
  readonly allowedDomains: readonly string[];
  readonly rules?: PermissionRules | undefined;
  /** Folders beside the workspace; a writer that has any may write nowhere else. */
  readonly allowDirs?: readonly string[] | undefined;
  /** Home folder of the sandbox's shell. */
  readonly home?: string | undefined;
  readonly caseInsensitive?: boolean | undefined;
  readonly resolve?: Resolve | undefined;
};

/** A policy whose tool classes can be added and taken back while it runs. */
export type ClassPolicy = PermissionPolicy & {
  registerToolClass(toolName: string, permissionClass: PermissionClass): void;
  unregisterToolClass(toolName: string): void;
};

type Judgement = PermissionVerdict & {
  /** True when the call may change something; `plan` refuses it. */
  readonly writes: boolean;
  /** Whether a rule fits the call; `real` looks at what the call leads to only, not at how it is spelled. */
  readonly fits: (rule: Rule, real: boolean) => boolean;
};

const DEFAULT_HOME = "/home/user";
/** Links of more files than this are not looked at; such a command asks. */
const MAX_READS = 100;

/** Decides by tool class, then by rules, then by mode. Anything that throws on the way is a denial. spec: S-1, G-1 */
export function createPolicy(options: PolicyOptions): ClassPolicy {
  const classes = new Map<string, PermissionClass>();
  const rules = {
    allow: (options.rules?.allow ?? []).map(parseRule),
    ask: (options.rules?.ask ?? []).map(parseRule),
    deny: (options.rules?.deny ?? []).map(parseRule),
  };
  const judge = async (call: PermissionCall): Promise<PermissionVerdict> => {
    const permissionClass = classes.get(call.toolName) ?? call.metadata.permissionClass;
    const allow = rules.allow.filter((rule) => rule.matchesTool(call.toolName));
    const judged = await judgeClass(permissionClass, call, options, allow);
    const hit = (list: readonly Rule[], real = false) =>
      list.some((rule) => rule.matchesTool(call.toolName) && judged.fits(rule, real));
    if (judged.decision === "deny") return plain(judged);
    if (hit(rules.deny)) return verdict("deny", "a rule of this deployment refuses it", "high");
    if (call.mode === "plan" && judged.writes)
      return verdict("deny", "plan mode: nothing that writes runs until the plan is approved", "medium");
    if (call.mode === "bypass") return verdict("allow", "permissions are bypassed", judged.risk);
    if (hit(rules.ask))
      return verdict("ask", "a rule of this deployment asks", judged.risk === "low" ? "medium" : judged.risk);
    if (judged.decision === "ask" && permissionClass !== "bash" && hit(rules.allow, true))
      return verdict("allow", "a rule of this deployment allows it", judged.risk);
    return plain(judged);
  };
  return {
    async check(call) {
      try {
        return await judge(call);
      } catch {
        return verdict("deny", "the permission check failed", "high");
      }
    },
    registerToolClass: (toolName, permissionClass) => {
      classes.set(toolName, permissionClass);
    },
    unregisterToolClass: (toolName) => {
      classes.delete(toolName);
    },
  };
}

function verdict(
  decision: PermissionVerdict["decision"],
  reason: string,
  risk: PermissionVerdict["risk"],
): PermissionVerdict {
  return { decision, reason, risk };
}

function plain({ decision, reason, risk }: Judgement): PermissionVerdict {
  return { decision, reason, risk };
}

async function judgeClass(
  permissionClass: PermissionClass,
  call: PermissionCall,
  options: PolicyOptions,
  allow: readonly Rule[],
): Promise<Judgement> {
  const whole = (rule: Rule) => rule.argument === undefined;
  switch (permissionClass) {
    case "bash":
      return judgeBash(call, options, allow);
    case "file":
      return judgeFile(call, options);
    case "webfetch":
      return judgeFetch(call, options);
    case "readonly":
      return { ...verdict("allow", "only reads", "low"), writes: false, fits: whole };
    case "generic":
      return {
        ...verdict("ask", `${call.toolName} may change something`, call.metadata.destructive ? "high" : "medium"),
        writes: !call.metadata.readOnly,
        fits: whole,
      };
    default:
      return permissionClass satisfies never;
  }
}

async function judgeBash(call: PermissionCall, options: PolicyOptions, allow: readonly Rule[]): Promise<Judgement> {
  const command = call.input.command;
  if (typeof command !== "string") throw new TypeError("a bash call without a command");
  const { root, cwd } = call;
  const everything = allow.some((rule) => rule.argument === undefined);
  const judged = judgeCommand(command, {
    workspace: root,
    cwd,
    home: options.home ?? DEFAULT_HOME,
    allowDirs: options.allowDirs,
    // In plan mode a rule does not make a writing call a reading one.
    allowed:
      allow.length > 0 && call.mode !== "plan"
        ? (argv) => allow.some((rule) => matchesCommand(rule.argument, argv))
        : undefined,
  });
  const fits = (rule: Rule) =>
    rule.argument === undefined || judged.argvs.some((argv) => matchesCommand(rule.argument, argv.map(literalText)));
  if (judged.verdict === "deny") return { ...verdict("deny", judged.reason, judged.risk), writes: true, fits };
  if (judged.verdict === "ask") {
    return { ...verdict(everything ? "allow" : "ask", judged.reason, judged.risk), writes: true, fits };
  }
  const strayed = await strayedRead([cwd, ...judged.reads], call, options);
  if (strayed !== undefined) return { ...verdict("ask", strayed, "medium"), writes: false, fits };
  return { ...verdict("allow", judged.reason, judged.risk), writes: false, fits };
}

/** The text of a path says where it seems to lead; its links say where it leads. */
async function strayedRead(
  reads: readonly string[],
  call: PermissionCall,
  options: PolicyOptions,
): Promise<string | undefined> {
  if (reads.length > MAX_READS) return "too many files to look at their links";
  for (const path of reads) {
    const found = await inspect("read", path, call, options);
    // The folder itself may not exist yet; what is inside by its name stays inside.
    if (found.verdict !== "inside") return found.reason;
  }
  return undefined;
}

function inspect(
  op: "read" | "write",
  path: string,
  call: PermissionCall,
  options: PolicyOptions,
): Promise<PathVerdict> {
  return classifyPath(
    {
      op,
      path,
      cwd: call.cwd,
      root: call.root,
      allowDirs: options.allowDirs,
      caseInsensitive: options.caseInsensitive,
      home: options.home ?? DEFAULT_HOME,
    },
    (candidate) => call.files.realPath(candidate),
  );
}

async function judgeFile(call: PermissionCall, options: PolicyOptions): Promise<Judgement> {
  const writes = !call.metadata.readOnly;
  const given = call.input.file_path ?? call.input.path ?? call.cwd;
  if (typeof given !== "string") throw new TypeError("a file call without a path");
  const found = await inspect(writes ? "write" : "read", given, call, options);
  const spelled = tidyPath(given.startsWith("/") ? given : `${call.cwd}/${given}`);
  const fits = (rule: Rule, real: boolean) =>
    (found.resolved !== undefined && matchesPath(rule.argument, found.resolved, call.root)) ||
    (!real && matchesPath(rule.argument, spelled, call.root));
  const stray = call.toolName === "Glob" ? await strayPattern(given, call, options) : undefined;
  if (found.verdict === "invalid" || found.verdict === "outside" || stray !== undefined) {
    return { ...verdict("deny", stray ?? found.reason, "high"), writes, fits };
  }
  if (found.verdict === "protected") return { ...verdict("ask", found.reason, "high"), writes, fits };
  if (writes && call.mode === "ask_edits")
    return { ...verdict("ask", "file writes are asked about", "medium"), writes, fits };
  return { ...verdict("allow", found.reason, writes ? "medium" : "low"), writes, fits };
}

/** A glob may leave its folder by its own text. */
async function strayPattern(folder: string, call: PermissionCall, options: PolicyOptions): Promise<string | undefined> {
  const pattern = call.input.pattern;
  if (typeof pattern !== "string") return undefined;
  const segments = pattern.split("/");
  const fixed = segments.slice(
    0,
    Math.max(
      0,
      segments.findIndex((segment) => /[*?[{(!]/.test(segment)),
    ),
  );
  if (segments.slice(fixed.length).some((segment) => /(^|[{,(|])\.\.($|[},)|])/.test(segment)))
    return "the pattern leaves its folder";
  if (fixed.length === 0 && !pattern.startsWith("/")) return undefined;
  const base = pattern.startsWith("/") ? fixed.join("/") || "/" : `${folder}/${fixed.join("/")}`;
  const found = await inspect("read", base, call, options);
  return found.verdict === "outside" || found.verdict === "invalid" ? found.reason : undefined;
}

async function judgeFetch(call: PermissionCall, options: PolicyOptions): Promise<Judgement> {
  const url = call.input.url;
  if (typeof url !== "string") throw new TypeError("a fetch call without an address");
  const found = await checkUrl(url, { allowDomains: options.allowedDomains, resolve: options.resolve });
  const host = found.host ?? "";
  const fits = (rule: Rule) =>
    rule.argument === undefined || isAllowedDomain(host, [rule.argument.replace(/^domain:/, "")]);
  if (found.verdict === "block" || found.verdict === "invalid")
    return { ...verdict("deny", found.reason, "high"), writes: false, fits };
  return { ...verdict(found.verdict, found.reason, found.verdict === "ask" ? "medium" : "low"), writes: false, fits };
}
