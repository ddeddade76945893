import type { Sandbox } from "../../contract/sandbox.ts";
import { REMOTE_ROOT } from "../../contract/sandbox-protocol.ts";
import { Connection, DEFAULT_FILE_TIMEOUT_MS, type RemoteSandboxOptions } from "./connection.ts";
import { timerDelay } from "./deadline.ts";
import { remoteExec } from "./remote-exec.ts";
import { createRemoteFiles } from "./remote-files.ts";

export type { RemoteSandboxOptions } from "./connection.ts";

/** What a command may take beyond its own time before it is given up, milliseconds. */
const DEFAULT_GRACE_MS = 5_000;

/**
 * A sandbox on another machine, over the protocol of `docs/sandbox-protocol.yaml`. Nothing is sent before the
 * first call; a server that was restarted or lost the workspace is met with a new creation.
 */
export function createRemoteSandbox(options: RemoteSandboxOptions): Sandbox {
  const { graceMs = DEFAULT_GRACE_MS, fileTimeoutMs = DEFAULT_FILE_TIMEOUT_MS, delay = timerDelay } = options;
  const connection = new Connection(options, delay);
  const newId = () => crypto.randomUUID();
  return {
    backend: options.backend,
    root: REMOTE_ROOT,
    files: createRemoteFiles(connection, fileTimeoutMs, delay),
    exec: (request, signal) => remoteExec(connection, request, signal, { graceMs, delay, newId }),
  };
}
