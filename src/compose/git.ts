import type { Sandbox } from "../contract/sandbox.ts";
import { type GitInfo, gitInfo } from "../sandbox/git-info.ts";

/** The repository a folder is in (P-4). Starts no command where no folder above it has a `.git`. */
export async function repositoryOf(sandbox: Sandbox, cwd: string): Promise<GitInfo | undefined> {
  for (const folder of upwards(cwd, sandbox.root)) {
    if ((await sandbox.files.lstat(`${folder}/.git`)).ok) return gitInfo(sandbox, cwd, new AbortController().signal);
  }
  return undefined;
}

/** The folder and those above it, up to the workspace. */
function upwards(cwd: string, root: string): string[] {
  const folders = [root];
  if (cwd.startsWith(`${root}/`)) {
    for (let at = cwd; at.length > root.length; at = at.slice(0, at.lastIndexOf("/"))) folders.push(at);
  }
  return folders;
}
