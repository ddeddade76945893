import type { Config } from "../contract/config.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import { type SandboxBackend, workspaceRoot } from "../contract/sandbox-backend.ts";
import { commaList } from "../run-plan.ts";
import { createE2bSandbox, type E2bSandbox } from "../sandbox/e2b/index.ts";
import { createRemoteSandbox } from "../sandbox/remote/index.ts";
import { removeRemoteSandbox } from "../sandbox/remote/remove.ts";
import { createMemorySandbox, createObjectSandbox, createWorkspaceTables } from "../sandbox/virtual/index.ts";
import type { SandboxNetwork } from "../sandbox/virtual/network.ts";
import { delay } from "../shared/delay.ts";
import { type Bindings, setting, settingError } from "./bindings.ts";

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

/** Throws when the backend that new sessions get lacks one of its settings (G-4). */
export function checkSandbox(env: Bindings, { SANDBOX_BACKEND: backend }: Config): void {
  switch (backend) {
    case "virtual":
      return;
    case "http":
    case "cloudflare":
      remoteAccess(env, backend);
      return;
    case "e2b":
      e2bAccess(env);
      return;
    default:
      backend satisfies never;
  }
}

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
  const { binding, ...access } = remoteAccess(env, backend);
  const options = {
    backend,
    ...access,
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
    ...e2bAccess(env),
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

function remoteAccess(env: Bindings, backend: SandboxBackend) {
  const binding = backend === "cloudflare" ? env.SANDBOX : undefined;
  const or = backend === "cloudflare" ? ", nor is there a binding SANDBOX" : "";
  // A service binding looks at the path only.
  const baseUrl = binding ? "http://sandbox" : address(needed(env, "SANDBOX_URL", backend, or));
  return { binding, baseUrl, token: needed(env, "SANDBOX_TOKEN", backend) };
}

function e2bAccess(env: Bindings) {
  const apiUrl = address(setting(env, "SANDBOX_URL") ?? "https://api.e2b.app");
  return { apiUrl, apiKey: needed(env, "SANDBOX_TOKEN", "e2b") };
}

function needed(env: Bindings, name: string, backend: string, or = ""): string {
  const value = setting(env, name);
  if (value === undefined) throw settingError(name, `is not set${or}: the ${backend} sandbox needs it`);
  return value;
}

function address(url: string): string {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw settingError("SANDBOX_URL", "must be an http or https address");
  }
  return url;
}
