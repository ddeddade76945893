import type { Sandbox } from "../contract/sandbox.ts";

/** What a person wants to know of a repository at a glance. */
export type GitInfo = {
  /** Undefined when HEAD is at no branch. */
  readonly branch: string | undefined;
  /** Something is not committed, untracked files included. */
  readonly dirty: boolean;
  /** Absolute path of the work tree. */
  readonly root: string;
};

/** Milliseconds: what is nice to know must not hold up a session. */
const TIMEOUT_MS = 5_000;
/** Bytes of the list of changes that are read; one line is enough to know. */
const MAX_BYTES = 64 * 1024;
const COMMAND = "git rev-parse --show-toplevel && git status --porcelain --branch";

/**
 * Asks the workspace's git about the repository `cwd` is in, on any backend. Undefined outside of a repository, without
 * git, when it takes too long or when `signal` aborts; never throws. spec: P-4
 */
export async function gitInfo(sandbox: Sandbox, cwd: string, signal: AbortSignal): Promise<GitInfo | undefined> {
  const enough = new AbortController();
  try {
    // It must neither wait for a lock of a command that runs nor ask for a password.
    const env = { GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" };
    const request = { command: COMMAND, cwd, env, timeoutMs: TIMEOUT_MS };
    const decoder = new TextDecoder();
    let text = "";
    for await (const event of sandbox.exec(request, AbortSignal.any([signal, enough.signal]))) {
      if (event.type === "exit") return event.exitCode === 0 ? parse(text) : undefined;
      if (event.type === "stdout") text += decoder.decode(event.data, { stream: true });
      if (text.length > MAX_BYTES) return parse(text);
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    enough.abort();
  }
}

function parse(text: string): GitInfo | undefined {
  const [root = "", header = "", ...changes] = text.split("\n");
  if (!root.startsWith("/") || !header.startsWith("## ")) return undefined;
  const name = header.slice(3).replace(/^(No commits yet|Initial commit) on /, "");
  const branch = name.startsWith("HEAD (no branch)") ? undefined : name.split(/\.\.\.| \[/)[0];
  return { branch, dirty: changes.some((line) => line !== ""), root };
}
