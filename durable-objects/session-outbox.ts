import type { AuditSink } from "../src/contract/audit.ts";
import type { SessionDirectory } from "../src/contract/directory.ts";
import type { SessionStore } from "./session-store.ts";

/** An entry is in D1 within about this time; a session writes at most one batch a second. */
const FLUSH_MS = 1_000;
const BATCH = 200;

export type OutboxPorts = {
  readonly store: SessionStore;
  /** undefined: no D1; then the outbox itself is the audit. */
  readonly audit: AuditSink | undefined;
  readonly directory: SessionDirectory;
  messageCount(): number;
  hold(work: Promise<unknown>): void;
};

/**
 * What the session owes the world outside: its audit entries and its row in the list of sessions. Stored with the step
 * it speaks of, delivered at least once with unique ids, so exactly once in effect.
 */
export class SessionOutbox {
  readonly #ports: OutboxPorts;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ports: OutboxPorts) {
    this.#ports = ports;
  }

  get waiting(): boolean {
    const { store, audit } = this.#ports;
    return store.isUnlisted() || (audit !== undefined && store.auditWaiting());
  }

  /** Delivers soon, if anything waits. */
  nudge(): void {
    if (!this.waiting) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#ports.hold(this.flush());
    }, FLUSH_MS);
  }

  /** Delivers now. True when nothing is owed any more; what could not be delivered stays for the next try. */
  async flush(): Promise<boolean> {
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
    const tenant = store.meta()?.tenant;
    if (!audit || tenant === undefined) return;
    for (let batch = store.auditBatch(BATCH); batch.length > 0; batch = store.auditBatch(BATCH)) {
      await audit.write(tenant, batch);
      // The session may have been deleted meanwhile, and its tables with it.
      if (!store.meta()) return;
      store.dropAudit(batch);
    }
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
