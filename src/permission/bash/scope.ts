import { isCredentialPath } from "../../shared/protected-names.ts";
import { isBelow, tidyPath } from "../path.ts";
import type { Arg, BashContext, Scope } from "./model.ts";

const READABLE_DEVICES = new Set(["/dev/null", "/dev/stdin", "/dev/zero"]);

/** The absolute paths a text can mean, one for each folder the shell may be in. */
export function absolutePaths(text: string, scope: Scope): string[] {
  if (text.startsWith("/")) return [tidyPath(text)];
  return scope.cwds.map((cwd) => tidyPath(`${cwd}/${text}`));
}

/** Says why reading what the argument names is not covered by the workspace, or undefined when it is. */
export function pathProblem(arg: Arg, scope: Scope): string | undefined {
  if (arg.kind === "dynamic") return "a path is known only when it runs";
  for (const text of arg.texts) {
    if (text === "-" || READABLE_DEVICES.has(text)) continue;
    // A tilde that no parser expanded may be expanded by a program.
    if (text.startsWith("~")) return "a path in a home folder";
    // `.*` matches `..` in some shells, and so leaves the folder.
    if (arg.kind === "pattern" && /(^|\/)\.\.?[*?[]/.test(text)) return "a pattern that can match the parent folder";
    if (arg.kind === "pattern" && matchesDotCredential(text)) return "a pattern that can match a credential file";
    for (const path of absolutePaths(text, scope)) {
      const root = [scope.context.workspace, ...(scope.context.allowDirs ?? [])].find((folder) =>
        isBelow(path, folder),
      );
      if (root === undefined) return `${path} is outside the workspace`;
      if (isCredentialPath(path.slice(root.length).split("/").filter(Boolean))) return `${path} may hold credentials`;
    }
  }
  return undefined;
}

const DOT_CREDENTIALS = [".env", ".env.local", ".env.production", ".npmrc", ".netrc", ".git-credentials", ".dev.vars"];

function matchesDotCredential(pattern: string): boolean {
  const name = pattern.split("/").at(-1) ?? "";
  if (!name.startsWith(".") || !/[*?[]/.test(name)) return false;
  // A pattern with many stars takes long to try.
  if ((name.match(/[*?[]/g)?.length ?? 0) > 4) return true;
  const source = name.replace(/\[[^\]]*\]|[*]+|[?]|[^\w]/g, (token) =>
    token.startsWith("*") ? ".*" : token === "?" || token.startsWith("[") ? "." : `\\${token}`,
  );
  return DOT_CREDENTIALS.some((known) => new RegExp(`^${source}$`).test(known));
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
