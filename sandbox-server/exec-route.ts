import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type ExecBody, REMOTE_ROOT } from "../src/contract/sandbox-protocol.ts";
import { sendError } from "./answers.ts";
import { at } from "./beneath.ts";
import type { Cgroups } from "./cgroup.ts";
import type { Guest, Isolation } from "./guest.ts";
import { runCommand } from "./run-command.ts";
import type { Settings } from "./settings.ts";
import type { Workspace } from "./workspaces.ts";

/** What commands need of the machine. */
export type Machine = {
  readonly settings: Settings;
  readonly isolation: Isolation;
  readonly cgroups: Cgroups | undefined;
  readonly privateFolder: string;
  readonly etcFolder: string;
  /** Commands running now, of all sandboxes. */
  running: number;
};

/** A comment on the stream so often, milliseconds: proxies cut connections that say nothing. */
const KEEPALIVE_MS = 15_000;

/** Runs a command and streams it as server-sent events; the last one is `exit` or `error`. A client that goes away cancels it. */
export async function serveExec(
  machine: Machine,
  workspace: Workspace,
  body: ExecBody,
  response: ServerResponse,
): Promise<void> {
  const { settings } = machine;
  if (workspace.execs.has(body.exec_id)) return sendError(response, "exists", "this exec_id is running already");
  if (workspace.execs.size >= settings.maxExecs || machine.running >= settings.maxExecsTotal) {
    return sendError(response, "busy", "too many commands are running");
  }
  const cancel = new AbortController();
  workspace.execs.set(body.exec_id, cancel);
  machine.running += 1;
  response.on("close", () => cancel.abort());
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": started\n\n");
  const keepalive = setInterval(() => response.write(": keepalive\n\n"), KEEPALIVE_MS);
  const send = async (event: string, data: string) => {
    if (response.destroyed) return;
    if (response.write(`event: ${event}\ndata: ${data}\n\n`)) return;
    await Promise.race([once(response, "drain"), once(response, "close")]);
  };
  try {
    const guest = await makeGuest(machine, workspace, body.timeout_ms);
    const { usage } = workspace;
    const { privateFolder } = machine;
    const shown = machine.isolation === "none" ? hostView(workspace) : sameView;
    const running = {
      guest,
      root: shown.toHost(REMOTE_ROOT),
      privateFolder,
      usage,
      maxOutputBytes: settings.maxOutputBytes,
    };
    const exit = await runCommand(
      running,
      { ...body, cwd: shown.toHost(body.cwd) },
      (stream, data) => send(stream, Buffer.from(data).toString("base64")),
      cancel.signal,
    );
    await send("exit", JSON.stringify({ ...exit, cwd: await lasting(workspace, shown.toGuest(exit.cwd)) }));
  } catch (error) {
    console.error("exec failed:", error);
    await send("error", JSON.stringify({ error: "the command could not be started", code: "not_started" }));
  } finally {
    clearInterval(keepalive);
    workspace.execs.delete(body.exec_id);
    machine.running -= 1;
    response.end();
  }
}

/** Everything `runCommand` needs to know of the sandbox a command runs in. */
export async function makeGuest(
  machine: Machine,
  workspace: Omit<Workspace, "execs">,
  timeoutMs: number,
): Promise<Guest> {
  const { settings, cgroups, isolation, etcFolder } = machine;
  const { maxMemoryBytes, maxProcesses } = settings;
  const cgroup = await cgroups?.make(`${process.pid}-${workspace.id}`, { maxMemoryBytes, maxProcesses });
  return {
    isolation,
    workFolder: workspace.workFolder,
    tmpFolder: workspace.tmpFolder,
    etcFolder,
    uid: isolation === "none" ? undefined : workspace.uid,
    allowNetwork: settings.allowNetwork,
    readOnly: settings.readOnly.split(":").filter(Boolean),
    limits: {
      maxAddressBytes: cgroup ? undefined : maxMemoryBytes,
      maxProcesses,
      maxFileBytes: workspace.maxBytes,
      cpuSeconds: Math.ceil(timeoutMs / 1000) + 5,
    },
    cgroupJoins: cgroup?.joins ?? [],
  };
}

/** The folder when it is one that lasts or the machine's, else the root: the next command starts there. */
async function lasting(workspace: Workspace, cwd: string): Promise<string> {
  if (!cwd.startsWith(`${REMOTE_ROOT}/`)) return cwd;
  const kind = await at(workspace.mounts, cwd, true, async (place) => place.kind).catch(() => "none");
  return kind === "directory" ? cwd : REMOTE_ROOT;
}

type View = { readonly toHost: (path: string) => string; readonly toGuest: (path: string) => string };

const sameView: View = { toHost: (path) => path, toGuest: (path) => path };

/** Without isolation commands see the machine's paths. */
function hostView({ mounts }: Workspace): View {
  const swap = (pairs: Iterable<readonly [string, string]>) => (path: string) => {
    for (const [from, to] of pairs)
      if (path === from || path.startsWith(`${from}/`)) return to + path.slice(from.length);
    return path;
  };
  return { toHost: swap(mounts), toGuest: swap([...mounts].map(([guest, host]) => [host, guest] as const)) };
}
