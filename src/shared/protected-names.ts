/** Names whose content runs, or decides what runs, when something else is started; writing one needs a question. */
const PROTECTED_FOLDERS = new Set([
  ".git",
  ".github",
  ".gitlab",
  ".gitea",
  ".forgejo",
  ".circleci",
  ".buildkite",
  ".vscode",
  ".vscode-server",
  ".idea",
  ".fleet",
  ".zed",
  ".cursor",
  ".devcontainer",
  ".husky",
  ".claude",
  ".codex",
  ".flyto",
  ".hg",
  ".svn",
  ".jj",
]);

const PROTECTED_FILES = new Set([
  ".gitattributes",
  ".gitmodules",
  ".gitconfig",
  ".gitlab-ci.yml",
  ".travis.yml",
  "azure-pipelines.yml",
  "bitbucket-pipelines.yml",
  "jenkinsfile",
  ".drone.yml",
  "appveyor.yml",
  ".pre-commit-config.yaml",
  "lefthook.yml",
  ".lefthook.yml",
  ".envrc",
  ".mcp.json",
  ".ripgreprc",
  ".yarnrc",
  ".yarnrc.yml",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".kshrc",
  ".cshrc",
  ".tcshrc",
  ".inputrc",
  ".vimrc",
  ".exrc",
]);

const CREDENTIAL_FOLDERS = new Set([".ssh", ".gnupg", ".aws", ".azure", ".kube", ".gcloud"]);

const CREDENTIAL_FILES = new Set([
  ".env",
  ".envrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".htpasswd",
  ".dockercfg",
  ".dev.vars",
  ".vault-token",
  ".boto",
  ".s3cfg",
  "credentials",
  "credentials.json",
  "credentials.toml",
  "application_default_credentials.json",
  "secrets.json",
  "secrets.yml",
  "secrets.yaml",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "kubeconfig",
]);

const CREDENTIAL_ENDINGS = /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|env)$/;
const ENV_FILE = /^\.(env|dev\.vars)(~|\..+)?$/;
/** Templates of an environment file hold names, not values. */
const ENV_TEMPLATE = /^(\.env\.)?(example|sample|template|dist|defaults)(\.env)?$/;

/** True when a path names a credential file, by the name alone. */
export function isCredentialPath(segments: readonly string[]): boolean {
  const names = segments.map(plainName);
  const last = names.at(-1) ?? "";
  if (names.slice(0, -1).some((name) => CREDENTIAL_FOLDERS.has(name)) || CREDENTIAL_FOLDERS.has(last)) {
    return !last.endsWith(".pub");
  }
  if (ENV_TEMPLATE.test(last)) return false;
  if (ENV_FILE.test(last) || CREDENTIAL_FILES.has(last) || CREDENTIAL_ENDINGS.test(last)) return true;
  // Read from a home folder only, which a workspace can be.
  if (names.length === 1 && (last === ".netrc" || last === "_netrc")) return true;
  const parent = names.at(-2);
  if (parent === ".docker" && last === "config.json") return true;
  // Remote addresses with a token live here.
  return parent === ".git" && last === "config";
}

/** True when writing the path changes what other programs run. */
export function isProtectedPath(segments: readonly string[]): boolean {
  const names = segments.map(plainName);
  return names.some((name) => PROTECTED_FOLDERS.has(name)) || PROTECTED_FILES.has(names.at(-1) ?? "");
}

/** Names that every file system sees as they are; most are. */
const PLAIN = /^[a-z0-9_.-]*[a-z0-9_-]$/;

/**
 * A name as lenient file systems see it: no case, no trailing dots or blanks, no stream suffix, no ignorable characters,
 * and the short form of `.git`.
 */
function plainName(segment: string): string {
  if (PLAIN.test(segment)) return segment;
  const name = segment
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
    .replace(/:.*$/, "")
    .replace(/[. ]+$/, "");
  return name === "git~1" ? ".git" : name;
}
