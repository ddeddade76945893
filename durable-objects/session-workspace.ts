import type { Bindings } from "../src/compose/bindings.ts";
import { composeWorkspace, type Workspace } from "../src/compose/sandbox.ts";
import type { Config } from "../src/contract/config.ts";
import type { Sandbox } from "../src/contract/sandbox.ts";
import type { SandboxBackend } from "../src/contract/sandbox-backend.ts";
import type { SessionStore } from "./session-store.ts";

/** Where a new session's workspace is to lie; `machine` is known once it was used, where machines have ids of their own. */
export type NewWorkspace = {
  readonly backend: SandboxBackend;
  readonly incarnation: string;
  machine: string | undefined;
};

export function newWorkspace(backend: SandboxBackend): NewWorkspace {
  return { backend, incarnation: crypto.randomUUID(), machine: undefined };
}

/** The session's workspace, made when it is first asked for. */
export class SessionWorkspace {
  readonly #env: Bindings;
  readonly #config: Config;
  readonly #storage: DurableObjectStorage;
  readonly #store: SessionStore;
  #made: Workspace | undefined;

  constructor(env: Bindings, config: Config, storage: DurableObjectStorage, store: SessionStore) {
    this.#env = env;
    this.#config = config;
    this.#storage = storage;
    this.#store = store;
  }

  /** Throws where there is no session, or its backend's settings are missing. */
  get sandbox(): Sandbox {
    return this.#own().sandbox;
  }

  /** The workspace of a session that is not there yet. */
  at(place: NewWorkspace): Workspace {
    const remember = (machine: string): void => {
      place.machine = machine;
    };
    return composeWorkspace(this.#env, this.#config, this.#storage, { ...place, remember });
  }

  /** A machine that cannot be reached does not keep a session from being deleted: it frees what is idle by itself. */
  async drop(): Promise<void> {
    try {
      await this.#own().remove();
    } catch (error) {
      console.error("workspace not removed", error instanceof Error ? error.message : typeof error);
    }
    this.#made = undefined;
  }

  #own(): Workspace {
    const meta = this.#store.meta();
    if (!meta) throw new Error("no session, no workspace");
    const { backend = "virtual", incarnation } = meta;
    this.#made ??= composeWorkspace(this.#env, this.#config, this.#storage, {
      ...{ backend, incarnation, machine: this.#store.machine() },
      remember: (id) => this.#store.setMachine(id),
    });
    return this.#made;
  }
}
