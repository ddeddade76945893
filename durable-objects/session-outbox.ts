import { createAuditChain } from "../src/audit/chain.ts";
import type { AuditSink, ChainedEntry, ChainHead } from "../src/contract/audit.ts";
import type { SessionDirectory } from "../src/contract/directory.ts";
import type { SessionStore } from "./session-store.ts";

/** An entry is in D1 within about this time; a session writes at most one batch a second. */
const FLUSH_MS = 1_000;
const BATCH = 200;

export type OutboxPorts = {
  readonly store: SessionStore;
  /** undefined: no D1; then the outbox itself is the audit. */
  readonly audit: AuditSink | undefined;
  /** The deployment's secret, from which the chain's key is derived. */
  readonly secret: string | undefined;
  readonly directory: SessionDirectory;
  messageCount(): number;
  hold(work: Promise<unknown>): void;
  /** What `nudge` has begun is over, delivered or not. */
  tried(): void;
};

/**
 * What the session owes the world outside: its audit entries and its row in the list of sessions. Stored with the step
 * it speaks of, delivered at least once with unique ids, so exactly once in effect.
 */
export class SessionOutbox {
  readonly #ports: OutboxPorts;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** The delivery that goes on now. One at a time: two would give the same places in the chain to different entries. */
  #delivery: Promise<boolean> = Promise.resolve(true);

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  get waiting(): boolean {
    const { store, audit } = this.#ports;
    return store.isUnlisted() || store.auditWaiting(audit === undefined);
  }

  /** Delivers soon, if anything waits. */
  nudge(): void {
    if (!this.waiting) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#ports.hold(this.flush().then(() => this.#ports.tried()));
    }, FLUSH_MS);
  }

  /** Delivers now. True when nothing is owed any more; what could not be delivered stays for the next try. */
  flush(): Promise<boolean> {
    this.#delivery = this.#delivery.then(() => this.#deliver());
    return this.#delivery;
  }

  /** Where the chain ends, sealed; undefined when the session is gone. */
  async head(): Promise<ChainHead | undefined> {
    const { store, secret } = this.#ports;
    const meta = store.meta();
    const end = meta && store.chainEnd();
    return end && (await createAuditChain(secret)).head(meta.tenant, meta.sessionId, meta.incarnation, end);
  }

  async #deliver(): Promise<boolean> {
    try {
      await this.#flushAudit();
      await this.#publish();
      return true;
    } catch (error) {
      console.error("outbox not delivered", error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  async #flushAudit(): Promise<void> {
    const { store, audit } = this.#ports;
    while (store.meta() && store.auditWaiting(audit === undefined)) {
      await this.#link();
      const meta = store.meta();
      if (!audit || !meta) continue;
      const batch = [...take(store.linkedAudit(), BATCH)];
      await audit.write(meta.tenant, batch, await this.#headAt(batch.at(-1)));
      // The session may have been deleted meanwhile, and its tables with it.
      if (!store.meta()) return;
      store.dropAudit(batch);
    }
  }

  /** Gives the next entries their places in the chain. An HMAC is made outside of the step that stored the entry. */
  async #link(): Promise<void> {
    const { store, secret } = this.#ports;
    const meta = store.meta();
    const open = meta ? store.unlinkedAudit(BATCH) : [];
    if (!meta || open.length === 0) return;
    const chain = await createAuditChain(secret);
    let end = store.chainEnd();
    const linked: ChainedEntry[] = [];
    for (const entry of open) {
      const next = await chain.link(meta.tenant, meta.incarnation, end, entry);
      linked.push(next);
      end = next;
    }
    if (store.meta()?.incarnation === meta.incarnation) store.linkAudit(linked);
  }

  async #headAt(last: ChainedEntry | undefined): Promise<ChainHead | undefined> {
    const { store, secret } = this.#ports;
    const meta = store.meta();
    if (!meta || !last) return undefined;
    return (await createAuditChain(secret)).head(meta.tenant, meta.sessionId, meta.incarnation, last);
  }

  async #publish(): Promise<void> {
    const { store, directory, messageCount } = this.#ports;
    const meta = store.meta();
    if (!meta || !store.isUnlisted()) return;
    store.setUnlisted(false);
    const row = { session_id: meta.sessionId, created_at: meta.createdAt, message_count: messageCount() };
    try {
      await directory.put(meta.tenant, row);
    } catch (error) {
      if (store.meta()) store.setUnlisted(true);
      throw error;
    }
  }
}

function* take<T>(source: Iterable<T>, count: number): Generator<T> {
  let taken = 0;
  for (const item of source) {
    yield item;
    if (++taken === count) return;
  }
}
