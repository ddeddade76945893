import { err, ok, type Result } from "../../contract/result.ts";
import type { ControlPlane } from "./control-plane.ts";
import { call, type Failure, type Live, type SandboxFetch } from "./rpc.ts";
import type { SandboxInfo } from "./wire.ts";

export const ENVD_PORT = 49983;

export type ConnectionOptions = {
  readonly fetch: SandboxFetch;
  readonly template: string;
  /** Where sandboxes answer when the control plane names no domain of its own: `49983-<id>.<domain>`. */
  readonly domain: string;
  /** One address for all sandboxes instead, told apart by headers; for a proxy or a server of one's own. */
  readonly sandboxUrl?: string | undefined;
  /** The sandbox of an earlier time. */
  readonly sandboxId?: string | undefined;
  readonly user: string;
  readonly root: string;
  /** Seconds a sandbox lives after its last use. */
  readonly lifeSeconds: number;
  readonly now: () => number;
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Is told the id before the sandbox is used, so that it is found again. */
  readonly remember: (id: string) => void | Promise<void>;
};

export type Connection = {
  /** The running sandbox, good for at least `needMs` more; made, woken or found on first use. Never throws. */
  live(needMs: number): Promise<Result<Live, Failure>>;
  /** Says that a sandbox did not answer any more; the next use looks for it again. */
  lost(live: Live): void;
  /** Id of the sandbox, when there is one. */
  id(): string | undefined;
};

/** Making a sandbox takes under a second as a rule; a template's first start may take longer. */
const OPEN_MS = 60_000;

/** Keeps the one sandbox of a workspace: one start at a time, however many commands wait for it. */
export function createConnection(plane: ControlPlane, options: ConnectionOptions): Connection {
  let id = options.sandboxId;
  let opening: Promise<Result<Live, Failure>> | undefined;
  let endsAt = 0;

  async function find(signal: AbortSignal): Promise<Result<SandboxInfo, Failure>> {
    const found = id === undefined ? ok(undefined) : await plane.find(id, options.lifeSeconds, signal);
    if (!found.ok) return found;
    if (found.value) return ok(found.value);
    const made = await plane.create(options.template, options.lifeSeconds, signal);
    if (!made.ok) return made;
    id = made.value.sandboxID;
    await options.remember(id);
    return made;
  }

  async function open(signal: AbortSignal): Promise<Result<Live, Failure>> {
    const info = await find(signal);
    if (!info.ok) return info;
    const live = liveOf(info.value, options);
    const made = await call(options.fetch, live, "filesystem.Filesystem/MakeDir", { path: options.root }, signal);
    return made.ok || made.error.code === "already_exists" ? ok(live) : made;
  }

  async function withLife(live: Live, needMs: number): Promise<Result<Live, Failure>> {
    const lifeMs = options.lifeSeconds * 1000;
    if (endsAt - options.now() > needMs + lifeMs / 2) return ok(live);
    const extended = await bounded(options.delay, (signal) =>
      plane.extend(live.id, Math.ceil((needMs + lifeMs) / 1000), signal),
    );
    if (!extended.ok) return extended;
    endsAt = options.now() + needMs + lifeMs;
    return ok(live);
  }

  return {
    async live(needMs) {
      opening ??= bounded(options.delay, open);
      const mine = opening;
      const opened = await mine;
      const ready = opened.ok ? await withLife(opened.value, needMs) : opened;
      if (!ready.ok && opening === mine) opening = undefined;
      return ready;
    },
    lost(live) {
      const current = opening;
      void current?.then((opened) => {
        if (opened.ok && opened.value === live && opening === current) opening = undefined;
      });
      endsAt = 0;
    },
    id: () => id,
  };
}

/** Where a sandbox answers, and the headers it wants. The user goes as the name of HTTP's basic scheme, as envd reads it. */
function liveOf(info: SandboxInfo, options: ConnectionOptions): Live {
  const domain = info.domain || options.domain;
  const url = options.sandboxUrl ?? `https://${ENVD_PORT}-${info.sandboxID}.${domain}`;
  return {
    id: info.sandboxID,
    url: url.replace(/\/+$/, ""),
    headers: {
      authorization: `Basic ${btoa(`${options.user}:`)}`,
      "e2b-sandbox-id": info.sandboxID,
      "e2b-sandbox-port": String(ENVD_PORT),
      ...(info.envdAccessToken ? { "x-access-token": info.envdAccessToken } : {}),
    },
  };
}

/** Ends within `OPEN_MS` by the injected clock, whatever the other side does. Never throws. */
async function bounded<T>(
  delay: ConnectionOptions["delay"],
  work: (signal: AbortSignal) => Promise<Result<T, Failure>>,
): Promise<Result<T, Failure>> {
  const over = new AbortController();
  const late = delay(OPEN_MS, over.signal).then(() => err(failed(`no answer within ${OPEN_MS / 1000} s`)));
  try {
    return await Promise.race([work(over.signal), late]);
  } catch (error) {
    return err(failed(error instanceof Error ? error.message : String(error)));
  } finally {
    over.abort();
  }
}

function failed(message: string): Failure {
  return { code: "unreachable", message, gone: false };
}
