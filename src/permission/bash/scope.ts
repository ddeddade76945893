import { isCredentialPath } from "../../shared/protected-names.ts";
import { isBelow, tidyPath } from "../path.ts";
import type { Arg, BashContext, Scope } from "./model.ts";

/** What a process substitution becomes: a pipe from or to a command that is judged itself. */
export const SUBSTITUTED_FILE = "/dev/fd/63";
const READABLE_DEVICES = new Set(["/dev/null", "/dev/stdin", "/dev/zero", SUBSTITUTED_FILE]);

/** The absolute paths a text can mean, one for each folder the shell may be in. */
export function absolutePaths(text: string, scope: Scope): string[] {
  if (text.startsWith("/")) return [tidyPath(text)];
  return scope.cwds.map((cwd) => tidyPath(`${cwd}/${text}`));
}

/** The same with `..` behind a name left in, which a link in front of it sends elsewhere than the text says. */
function readPaths(text: string, scope: Scope): string[] {
  const tidied = absolutePaths(text, scope);
  const segments = text.split("/");
  const name = segments.findIndex((segment) => segment !== "" && segment !== "." && segment !== "..");
  if (name < 0 || !segments.includes("..", name)) return tidied;
  return [...tidied, ...(text.startsWith("/") ? [text] : scope.cwds.map((cwd) => `${cwd}/${text}`))];
}

/**
 * Says why reading what the argument names is not covered by the workspace, or undefined when it is. Notes what it has
 * judged in `scope.reads`: the text alone does not tell where links lead.
 */
export function pathProblem(arg: Arg, scope: Scope): string | undefined {
  if (arg.kind === "dynamic") return "a path is known only when it runs";
  for (const text of arg.texts) {
    if (text === "-" || READABLE_DEVICES.has(text)) continue;
    // A tilde that no parser expanded may be expanded by a program.
    if (text.startsWith("~")) return "a path in a home folder";
    // `.*` matches `..` in some shells, and so leaves the folder.
    if (arg.kind === "pattern" && /(^|\/)\.\.?[*?[]/.test(text)) return "a pattern that can match the parent folder";
    if (arg.kind === "pattern" && text.split("/").some((name, at, names) => aimsAtCredential(name, names[at - 1])))
      return "a pattern that can match a credential file";
    for (const path of absolutePaths(text, scope)) {
      const root = folderAround(path, scope);
      if (root === undefined) return `${path} is outside the workspace`;
      if (isCredentialPath(path.slice(root.length).split("/").filter(Boolean))) return `${path} may hold credentials`;
    }
    for (const path of readPaths(text, scope)) scope.reads.add(path);
  }
  return undefined;
}

/** Says why asking whether a file exists leaves the workspace; what the file holds is not shown. */
export function existenceProblem(arg: Arg, scope: Scope): string | undefined {
  if (arg.kind === "dynamic") return undefined;
  const paths = arg.texts.flatMap((text) => (READABLE_DEVICES.has(text) ? [] : absolutePaths(text, scope)));
  const outside = paths.find((path) => folderAround(path, scope) === undefined);
  return outside === undefined ? undefined : `${outside} is outside the workspace`;
}

function folderAround(path: string, scope: Scope): string | undefined {
  return [scope.context.workspace, ...(scope.context.allowDirs ?? [])].find((folder) => isBelow(path, folder));
}

/** Names a pattern may be written for; those without a dot count only if it spells how they begin. */
const AIMS = [
  ...[".env", ".env.local", ".env.production", ".npmrc", ".netrc", ".git-credentials", ".dev.vars", ".pgpass"],
  ...[".pypirc", ".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker"],
  ...["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "credentials.json", "kubeconfig"],
  ...["secrets.json", "secrets.yml", "secrets.yaml"],
];
const AIMED_ENDINGS = ["pem", "key", "p12", "pfx"];

function aimsAtCredential(name: string, folder: string | undefined): boolean {
  if (!/[*?[]/.test(name)) return false;
  const settings = folder === ".git" ? "config" : folder === ".docker" ? "config.json" : undefined;
  const begins = settings !== undefined || name.startsWith(".") || /^\w{2}/.test(name);
  const ending = name.slice(name.lastIndexOf(".") + 1);
  const spelled = ending !== name && /\w/.test(ending) && /[*?[]/.test(ending);
  if (!begins && !spelled) return false;
  // A pattern with many stars takes long to try.
  if ((name.match(/[*?[]/g)?.length ?? 0) > 4) return true;
  const matches = (pattern: string, known: string) => new RegExp(`^${globSource(pattern)}$`).test(known);
  return (
    (settings !== undefined && matches(name, settings)) ||
    (begins && AIMS.some((known) => matches(name, known))) ||
    (spelled && AIMED_ENDINGS.some((known) => matches(ending, known)))
  );
}

function globSource(pattern: string): string {
  return pattern.replace(/\[[^\]]*\]|[*]+|[?]|[^\w]/g, (token) =>
    token.startsWith("*") ? ".*" : token === "?" || token.startsWith("[") ? "." : `\\${token}`,
  );
}

/** True when a search asks for credential files by name. */
export function mentionsCredentials(args: readonly Arg[]): boolean {
  return args.some((arg) =>
    arg.texts.some((text) =>
      /\.env|\.pem|\.key|id_(rsa|dsa|ecdsa|ed25519)|credential|\.npmrc|\.netrc|\.pypirc|secret|\.ssh|\.aws|^\.\*|^\.e/i.test(
        text,
      ),
    ),
  );
}

const SYSTEM_FOLDERS = [
  "/etc",
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/boot",
  "/sys",
  "/proc",
  "/root",
  "/var/spool",
  "/var/lib",
  "/System",
  "/Library",
  "/private/etc",
];
const HARMLESS_DEVICES = /^\/dev\/(null|zero|full|stdin|stdout|stderr|tty|fd(\/.*)?|shm(\/.*)?)$/;
const STARTUP_FILE =
  /^(\.(bash|zsh|k?sh|csh|tcsh)(rc|env|_profile|_login|_logout|_aliases)|\.z(profile|login|logout)|\.profile|\.login|\.xinitrc|\.xprofile|\.xsessionrc|\.pam_environment|\.inputrc|\.gitconfig|\.rhosts|\.forward|\.crontab|\.(npmrc|netrc|pypirc|pgpass)|\.(ssh|gnupg|aws|kube|docker)(\/.*)?|\.config\/(autostart|systemd|fish|git|environment\.d|gh|gcloud)(\/.*)?|\.local\/(bin|share\/(systemd|autostart))(\/.*)?|Library\/(LaunchAgents|LaunchDaemons)(\/.*)?)$/;

/** True for system files, login and start-up files and devices: what the engine refuses to write. */
export function isSystemPath(path: string, context: BashContext): boolean {
  if (path === "/") return true;
  if (isBelow(path, context.workspace)) return false;
  if (isBelow(path, "/dev")) return !HARMLESS_DEVICES.test(path);
  if (SYSTEM_FOLDERS.some((folder) => isBelow(path, folder))) return true;
  const below = belowHome(path, context.home);
  return below !== undefined && STARTUP_FILE.test(below);
}

/** True for what no tree deletion may touch: `/`, a parent of the workspace, home folders and system folders. */
export function isCriticalTree(path: string, context: BashContext): boolean {
  if (path === context.workspace) return false;
  if (path === "/" || isBelow(context.workspace, path) || isBelow(context.home, path)) return true;
  if (isBelow(path, context.workspace)) return false;
  if (/^\/[^/]+$/.test(path) && path !== "/tmp") return true;
  return isSystemPath(path, context) || belowHome(path, context.home) === "" || /^\/(home|Users)\/[^/]+$/.test(path);
}

/** True when a path names something that proves who one is, in the workspace or in a home folder. */
export function isSecretFile(path: string, context: BashContext): boolean {
  if (/^\/etc\/(shadow|gshadow|passwd|sudoers)/.test(path) || /^\/proc\/[^/]+\/environ$/.test(path)) return true;
  const below = belowHome(path, context.home);
  if (below !== undefined && /^\.(netrc|bash_history|zsh_history|pgpass|config\/(gh|gcloud)(\/.*)?)$/.test(below))
    return true;
  return isCredentialPath(path.split("/").filter(Boolean));
}

function belowHome(path: string, home: string): string | undefined {
  if (isBelow(path, home)) return path.slice(home.length).replace(/^\/+/, "");
  return /^\/(?:home|Users)\/[^/]+\/?(.*)$/.exec(path)?.[1] ?? (isBelow(path, "/root") ? path.slice(6) : undefined);
}
