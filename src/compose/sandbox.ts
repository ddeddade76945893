import type { Config } from "../contract/config.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import { type SandboxBackend, workspaceRoot } from "../contract/sandbox-backend.ts";
import { commaList } from "../run-plan.ts";
import { createE2bSandbox, type E2bSandbox } from "../sandbox/e2b/index.ts";
import { createRemoteSandbox } from "../sandbox/remote/index.ts";
import { removeRemoteSandbox } from "../sandbox/remote/remove.ts";
import { createMemorySandbox, createObjectSandbox, createWorkspaceTables } from "../sandbox/virtual/index.ts";
import type { SandboxNetwork } from "../sandbox/virtual/network.ts";
import { type Bindings, setting } from "./bindings.ts";
import { delay } from "./delay.ts";

/** What a remote machine has for its answer after a command's deadline, milliseconds. */
const GRACE_MS = 5_000;

/** Where a session's workspace lies; a session keeps its backend for life. */
export type WorkspacePlace = {
  readonly backend: SandboxBackend;
  /** Tells this life of the session from others; part of no path. */
  readonly incarnation: string;
  /** The remote machine of an earlier time, where the backend gives machines ids of its own. */
  readonly machine: string | undefined;
  /** Stores such an id. */
  remember(machine: string): void;
};

export type Workspace = {
  readonly sandbox: Sandbox;
  /** Frees what lies on other machines. */
  remove(): Promise<void>;
};

/** A session's workspace on its backend (X-1, G-4). Throws when the backend's settings are missing. */
export function composeWorkspace(
  env: Bindings,
  config: Config,
  storage: DurableObjectStorage,
  place: WorkspacePlace,
): Workspace {
  switch (place.backend) {
    case "virtual":
      return {
        sandbox: createObjectSandbox(storage, { ...quota(config), network: guestNetwork(config) }),
        // Its files go with the object's storage.
        remove: async () => undefined,
      };
    case "http":
    case "cloudflare":
      return remote(env, config, place);
    case "e2b": {
      const sandbox = e2b(env, place);
      return { sandbox, remove: async () => void (await sandbox.destroy(AbortSignal.timeout(15_000))) };
    }
    default:
      return place.backend satisfies never;
  }
}

/** Makes the tables of a virtual workspace, once, when its session is made. */
export function prepareWorkspace(storage: DurableObjectStorage): void {
  createWorkspaceTables(storage.sql);
}

/** The workspace of a stateless run: gone with it. */
export function composeMemorySandbox(config: Config): Sandbox {
  return createMemorySandbox({ ...quota(config), network: guestNetwork(config) });
}

function quota(config: Config): { maxBytes: number; now: () => number } {
  return { maxBytes: config.WORKSPACE_MAX_BYTES, now: Date.now };
}

function guestNetwork(config: Config): SandboxNetwork | undefined {
  const allowDomains = commaList(config.SANDBOX_ALLOWED_DOMAINS);
  return allowDomains.length === 0 ? undefined : { allowDomains, fetch: (url, init) => fetch(url, init) };
}

function remote(env: Bindings, config: Config, { backend, incarnation }: WorkspacePlace): Workspace {
  const binding = backend === "cloudflare" ? env.SANDBOX : undefined;
  const options = {
    backend,
    // A service binding looks at the path only.
    baseUrl: binding ? "http://sandbox" : needed(env, "SANDBOX_URL", backend),
    token: needed(env, "SANDBOX_TOKEN", backend),
    sandboxId: incarnation,
    fetch: (url: string, init: RequestInit) => (binding ? binding.fetch(url, init) : fetch(url, init)),
    maxBytes: config.WORKSPACE_MAX_BYTES,
    graceMs: GRACE_MS,
    delay,
  };
  return { sandbox: createRemoteSandbox(options), remove: async () => void (await removeRemoteSandbox(options)) };
}

function e2b(env: Bindings, { machine, remember }: WorkspacePlace): E2bSandbox {
  return createE2bSandbox({
    apiUrl: setting(env, "SANDBOX_URL") ?? "https://api.e2b.app",
    apiKey: needed(env, "SANDBOX_TOKEN", "e2b"),
    template: setting(env, "SANDBOX_TEMPLATE") ?? "base",
    domain: setting(env, "SANDBOX_DOMAIN") ?? "e2b.app",
    root: workspaceRoot("e2b"),
    sandboxId: machine,
    remember,
    fetch: (url, init) => fetch(url, init),
    delay,
    now: Date.now,
    graceMs: GRACE_MS,
  });
}

function needed(env: Bindings, name: string, backend: string): string {
  const value = setting(env, name);
  if (value === undefined) throw new Error(`configuration: ${name} is needed for the ${backend} sandbox`);
  return value;
}
