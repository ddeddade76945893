import type { AuditSink } from "../src/contract/audit.ts";
import type { SessionDirectory } from "../src/contract/directory.ts";
import type { Session } from "./session.ts";

type Namespace = DurableObjectNamespace<Session>;

/** The list of sessions where there is no database: one book object a tenant (its name is no session id). */
export function createBookDirectory(env: { readonly [name: string]: unknown }): SessionDirectory {
  // The binding of this very class, named in wrangler.toml.
  const namespace = env.SESSION as Namespace;
  return {
    put: (tenant, session) => book(namespace, tenant).bookPut(session),
    remove: (tenant, id) => book(namespace, tenant).bookRemove(id),
    list: (tenant, limit, after) => book(namespace, tenant).bookList(limit, after),
  };
}

/** Audit of stateless runs where there is no database. */
export function createBookAudit(namespace: Namespace): AuditSink {
  return { write: (tenant, entries) => book(namespace, tenant).bookAudit([...entries]) };
}

export function book(namespace: Namespace, tenant: string): DurableObjectStub<Session> {
  return namespace.getByName(`${tenant}/~book`);
}
