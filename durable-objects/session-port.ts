import type { AuditSink } from "../src/contract/audit.ts";
import type { Credentials } from "../src/contract/credentials.ts";
import type { NewId } from "../src/contract/ids.ts";
import { SessionId } from "../src/contract/ids.ts";
import type { RunPlan } from "../src/contract/log.ts";
import { type Answer, type Refusal, refuse } from "../src/contract/refusal.ts";
import type { MessageRequest } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Caller, Feed, FrameSocket, SessionsPort } from "../src/contract/sessions.ts";
import type { Session } from "./session.ts";

export type SessionPortDeps = {
  readonly namespace: DurableObjectNamespace<Session>;
  readonly newId: NewId;
  now(): number;
  /** Turns a request into a run, or refuses it before anything is stored. */
  plan(
    caller: Caller,
    request: MessageRequest,
    runId: string,
  ): Promise<Answer<{ plan: RunPlan; credentials?: Credentials }>>;
};

/** Sessions as Durable Objects. An object's name carries the tenant, so one tenant cannot even address another's session. */
export function createObjectSessions(deps: SessionPortDeps): SessionsPort {
  const stub = (caller: Caller, id: string) => deps.namespace.getByName(`${caller.tenant}/${id}`);
  return {
    async create(caller, wanted) {
      const id = wanted ?? deps.newId("sess");
      const createdAt = new Date(deps.now()).toISOString();
      return stub(caller, id).create(caller.tenant, id, createdAt);
    },
    info: async (caller, id) => known(id) ?? stub(caller, id).info(),
    remove: async (caller, id) => known(id) ?? stub(caller, id).remove(),
    async send(caller, id, request) {
      const bad = known(id);
      if (bad) return bad;
      const runId = deps.newId("run");
      const planned = await deps.plan(caller, request, runId);
      if (!planned.ok) {
        // A missing session comes before anything wrong with the run.
        const info = await stub(caller, id).info();
        return info.ok ? planned : info;
      }
      const { plan, credentials } = planned.value;
      const session = stub(caller, id);
      const onBusy = request.on_busy ?? "reject";
      const started = await session.begin({ plan, credentials, onBusy });
      if (!started.ok) return started;
      return ok(feed(() => stub(caller, id), started.value.cursor, runId));
    },
    answer: async (caller, id, decision, reply) => known(id) ?? stub(caller, id).answer(decision, reply),
    openDecisions: async (caller, id) => known(id) ?? stub(caller, id).openDecisions(),
    cancel: async (caller, id, request) =>
      known(id) ?? stub(caller, id).cancelRun(request.reason ?? "cancelled by the user"),
    history: async (caller, id, page) => known(id) ?? stub(caller, id).history(page.limit, page.cursor),
    readFile: async (caller, id, path) => known(id) ?? stub(caller, id).readFile(path),
    writeFile: async (caller, id, path, bytes) => known(id) ?? stub(caller, id).writeFile(path, bytes),
    removeFile: async (caller, id, path) => known(id) ?? stub(caller, id).deleteFile(path),
  };
}

/** An id that no session can have is a session that is not there. */
function known(id: string): { ok: false; error: Refusal } | undefined {
  return SessionId.safeParse(id).success ? undefined : refuse("not_found_error", "session not found");
}

/** The stream of one run. Each connection takes a new stub: one that saw its object break stays broken. */
function feed(stub: () => DurableObjectStub<Session>, cursor: number, runId: string): Feed {
  return {
    cursor,
    runId,
    async connect(after): Promise<Answer<FrameSocket>> {
      const url = `http://session/ws?after=${after}&run=${encodeURIComponent(runId)}`;
      const response = await stub().fetch(url, { headers: { upgrade: "websocket" } });
      const socket = response.webSocket;
      if (!socket) return (await response.json()) as { ok: false; error: Refusal };
      return ok(socket);
    },
  };
}

/** Audit of stateless runs where there is no D1: one book object a tenant (its name is no session id). */
export function createObjectAuditSink(namespace: DurableObjectNamespace<Session>): AuditSink {
  return {
    write: (tenant, entries) => namespace.getByName(`${tenant}/~audit`).recordAudit(tenant, [...entries]),
  };
}
