import type { ExecRequest, Sandbox } from "../../../../src/contract/sandbox.ts";

export type Ran = {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly cwd: string;
};

/** Runs a command to its end and gathers what it gave. */
export async function run(
  sandbox: Sandbox,
  command: string,
  request: Partial<ExecRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Ran> {
  const text = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const out = { stdout: "", stderr: "" };
  const full = { command, cwd: sandbox.root, env: {}, timeoutMs: 20_000, ...request };
  for await (const event of sandbox.exec(full, signal)) {
    if (event.type === "exit") {
      return { ...out, exitCode: event.exitCode, timedOut: event.timedOut, cwd: event.cwd };
    }
    out[event.type] += text[event.type].decode(event.data, { stream: true });
  }
  throw new Error("the command had no exit event");
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The text of a file; throws when it cannot be read. */
export async function read(sandbox: Sandbox, path: string): Promise<string> {
  const answer = await sandbox.files.readFile(path);
  if (!answer.ok) throw new Error(answer.error.message);
  return new TextDecoder().decode(answer.value);
}

/** The code of what went wrong, or "ok". */
export async function codeOf(answer: Promise<{ ok: true } | { ok: false; error: { code: string } }>): Promise<string> {
  const settled = await answer;
  return settled.ok ? "ok" : settled.error.code;
}
