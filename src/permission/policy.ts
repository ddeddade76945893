import type {
  Grant,
  PermissionCall,
  PermissionPolicy,
  PermissionRules,
  PermissionVerdict,
} from "../contract/permission.ts";
import type { PermissionClass } from "../contract/tools.ts";
import { checkUrl, isAllowedDomain, type Resolve } from "../shared/egress.ts";
import { judgeCommand } from "./bash/classify.ts";
import { literalText } from "./bash/words.ts";
import { classifyPath, type PathVerdict, tidyPath } from "./path.ts";
import { matchesCommand, matchesPath, parseRule, type Rule } from "./rules.ts";

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

type PlainVerdict = Pick<PermissionVerdict, "decision" | "reason" | "risk">;

type Judgement = PlainVerdict & {
  /** The argument a grant for this call stands for. */
  readonly grant?: Pick<Grant, "argument">;
  /** True when the call may change something; `plan` refuses it. */
  readonly writes: boolean;
  /** Whether a rule fits the call; `real` looks at what the call leads to only, not at how it is spelled. */
  readonly fits: (rule: Rule, real: boolean) => boolean;
};

type ParsedRules = { readonly allow: readonly Rule[]; readonly ask: readonly Rule[]; readonly deny: readonly Rule[] };

const DEFAULT_HOME = "/home/user";
/** Links of more files than this are not looked at; such a command asks. */
const MAX_READS = 100;

/** Decides by tool class, then by rules, then by mode. Anything that throws on the way is a denial. spec: S-1, G-1 */
export function createPolicy(options: PolicyOptions): ClassPolicy {
  const classes = new Map<string, PermissionClass>();
  const ownRules = parseRules(options.rules);
  const judge = async (call: PermissionCall): Promise<PermissionVerdict> => {
    const rules = call.rules ? joinParsed(ownRules, parseRules(call.rules)) : ownRules;
    const permissionClass = classes.get(call.toolName) ?? call.metadata.permissionClass;
    const allow = rules.allow.filter((rule) => rule.matchesTool(call.toolName));
    const judged = await judgeClass(permissionClass, call, options, allow);
    const hit = (list: readonly Rule[], real = false) =>
      list.some((rule) => rule.matchesTool(call.toolName) && judged.fits(rule, real));
    if (judged.decision === "deny") return plain(judged);
    if (hit(rules.deny)) return verdict("deny", "a permission rule refuses it", "high");
    if (call.mode === "plan" && judged.writes)
      return verdict("deny", "plan mode: nothing that writes runs until the plan is approved", "medium");
    if (call.mode === "bypass") return verdict("allow", "permissions are bypassed", judged.risk);
    const asks = hit(rules.ask);
    if (!asks && judged.decision === "allow") return plain(judged);
    const grant = { tool: call.toolName, ...judged.grant };
    if (call.grants?.some((given) => given.tool === grant.tool && given.argument === grant.argument))
      return verdict("allow", "allowed by the user for this session", judged.risk);
    if (asks)
      return { ...verdict("ask", "a permission rule asks", judged.risk === "low" ? "medium" : judged.risk), grant };
    if (permissionClass !== "bash" && hit(rules.allow, true))
      return verdict("allow", "a permission rule allows it", judged.risk);
    return { ...plain(judged), grant };
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

function parseRules(rules: PermissionRules | undefined): ParsedRules {
  const list = (texts: readonly string[] | undefined) => (texts ?? []).map(parseRule);
  return { allow: list(rules?.allow), ask: list(rules?.ask), deny: list(rules?.deny) };
}

function joinParsed(a: ParsedRules, b: ParsedRules): ParsedRules {
  return { allow: [...a.allow, ...b.allow], ask: [...a.ask, ...b.ask], deny: [...a.deny, ...b.deny] };
}

function verdict(
  decision: PermissionVerdict["decision"],
  reason: string,
  risk: PermissionVerdict["risk"],
): PlainVerdict {
  return { decision, reason, risk };
}

function plain({ decision, reason, risk }: Judgement): PlainVerdict {
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
      return { ...verdict("allow", call.metadata.passes ?? "only reads", "low"), writes: false, fits: whole };
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
  const grant = { argument: command.trim() };
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
    return { ...verdict(everything ? "allow" : "ask", judged.reason, judged.risk), writes: true, fits, grant };
  }
  const strayed = await strayedRead([cwd, ...judged.reads], call, options);
  if (strayed !== undefined) return { ...verdict("ask", strayed, "medium"), writes: false, fits, grant };
  return { ...verdict("allow", judged.reason, judged.risk), writes: false, fits, grant };
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
  const grant = { argument: found.resolved ?? spelled };
  const stray = call.toolName === "Glob" ? await strayPattern(given, call, options) : undefined;
  if (found.verdict === "invalid" || found.verdict === "outside" || stray !== undefined) {
    return { ...verdict("deny", stray ?? found.reason, "high"), writes, fits };
  }
  if (found.verdict === "protected") return { ...verdict("ask", found.reason, "high"), writes, fits, grant };
  if (writes && call.mode === "ask_edits")
    return { ...verdict("ask", "file writes are asked about", "medium"), writes, fits, grant };
  return { ...verdict("allow", found.reason, writes ? "medium" : "low"), writes, fits, grant };
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
  const risk = found.verdict === "ask" ? "medium" : "low";
  return { ...verdict(found.verdict, found.reason, risk), writes: false, fits, grant: { argument: host } };
}
