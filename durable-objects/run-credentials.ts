import { Credentials } from "../src/contract/credentials.ts";
import { createSealer } from "../src/secrets/seal.ts";
import type { SessionStore } from "./session-store.ts";

/**
 * Keys that requests brought for their own runs (G-3): in memory while this life of the object lasts, sealed in the table
 * for the next one, wiped when the run ends. Without a deployment secret only the memory remains.
 */
export class RunCredentials {
  readonly #store: SessionStore;
  readonly #secret: string | undefined;
  readonly #known = new Map<string, Credentials>();

  constructor(store: SessionStore, secret: string | undefined) {
    this.#store = store;
    this.#secret = secret;
  }

  /** Gives the sealed form, to be stored with the run; undefined without a secret. */
  async seal(runId: string, credentials: Credentials): Promise<string | undefined> {
    if (!this.#secret) return undefined;
    const sealer = await createSealer(this.#secret);
    return sealer.seal(JSON.stringify(credentials), this.#context(runId));
  }

  keep(runId: string, credentials: Credentials, sealed: string | undefined): void {
    this.#known.set(runId, credentials);
    if (sealed !== undefined) this.#store.saveCredentials(runId, sealed);
  }

  /** undefined when they are gone: the run cannot go on. */
  async of(runId: string): Promise<Credentials | undefined> {
    const known = this.#known.get(runId);
    if (known) return known;
    const sealed = this.#store.credentials(runId);
    if (sealed === undefined || !this.#secret) return undefined;
    const sealer = await createSealer(this.#secret);
    const clear = await sealer.open(sealed, this.#context(runId));
    return clear === undefined ? undefined : Credentials.parse(JSON.parse(clear));
  }

  /** Forgets what ended runs brought. */
  forgetAllBut(runId: string | undefined): void {
    for (const id of this.#known.keys()) if (id !== runId && !this.#store.isQueued(id)) this.#known.delete(id);
  }

  clear(): void {
    this.#known.clear();
  }

  /** Binds the sealed text to its place: copied elsewhere, it does not open. */
  #context(runId: string): string {
    const meta = this.#store.meta();
    return `${meta?.tenant}/${meta?.sessionId}/${runId}`;
  }
}
