import type { Credentials } from "../src/contract/credentials.ts";
import type { SessionDirectory } from "../src/contract/directory.ts";
import type { NewId } from "../src/contract/ids.ts";
import { SessionId } from "../src/contract/ids.ts";
import type { RunPlan } from "../src/contract/log.ts";
import { type Answer, type Refusal, refuse } from "../src/contract/refusal.ts";
import type { MessageRequest } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Caller, Feed, FrameSocket, SessionsPort } from "../src/contract/sessions.ts";
import { fromCursor, toCursor } from "../src/shared/cursor.ts";
import { book } from "./object-directory.ts";
import type { Session } from "./session.ts";

export type SessionPortDeps = {
  readonly namespace: DurableObjectNamespace<Session>;
  readonly directory: SessionDirectory;
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
    async create(caller, wanted, repeat) {
      let id = wanted ?? deps.newId("sess");
      if (repeat) {
        const claimed = await book(deps.namespace, caller.tenant).bookKey(repeat, id);
        if (!claimed.ok) return claimed;
        id = claimed.value.session_id;
      }
      const createdAt = new Date(deps.now()).toISOString();
      return stub(caller, id).create(caller.tenant, id, createdAt, repeat?.key, caller.settings?.sandbox);
    },
    async list(caller, { limit, cursor }) {
      const after = cursor === undefined ? undefined : readListCursor(cursor);
      if (cursor !== undefined && !after) return refuse("invalid_request_error", "cursor is not one of this list");
      const page = await deps.directory.list(caller.tenant, limit, after);
      return ok({ ...page, next_cursor: page.next_cursor === null ? null : toCursor(page.next_cursor) });
    },
    info: async (caller, id) => known(id) ?? stub(caller, id).info(),
    remove: async (caller, id) => known(id) ?? stub(caller, id).remove(),
    async send(caller, id, request, repeat) {
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
      const started = await session.begin({ plan, credentials, onBusy, repeat });
      if (!started.ok) return started;
      return ok(feed(() => stub(caller, id), started.value.cursor, started.value.runId));
    },
    async follow(caller, id, after) {
      const bad = known(id);
      if (bad) return bad;
      const valid = await stub(caller, id).checkCursor(after);
      return valid.ok ? ok(feed(() => stub(caller, id), after, undefined)) : valid;
    },
    stats: async (caller, id) => known(id) ?? stub(caller, id).stats(),
    async fork(caller, id, wanted) {
      const bad = known(id);
      if (bad) return bad;
      const fresh = wanted ?? deps.newId("sess");
      const createdAt = new Date(deps.now()).toISOString();
      return stub(caller, fresh).forkFrom(stub(caller, id), caller.tenant, fresh, createdAt);
    },
    answer: async (caller, id, decision, reply) => known(id) ?? stub(caller, id).answer(decision, reply),
    openDecisions: async (caller, id) => known(id) ?? stub(caller, id).openDecisions(),
    cancel: async (caller, id, request) =>
      known(id) ?? stub(caller, id).cancelRun(request.reason ?? "cancelled by the user"),
    async compact(caller, id, request) {
      const bad = known(id);
      if (bad) return bad;
      const last = await stub(caller, id).lastModel();
      if (!last.ok) return last;
      // A conversation goes to no other provider than the one it was held with, unless the request says so.
      const own = request.provider ?? caller.provider?.name;
      const usual = own === undefined || own === last.value?.provider ? last.value : undefined;
      const asked = { ...usual, ...request, prompt: "compact" };
      const planned = await deps.plan(caller, asked, deps.newId("run"));
      if (!planned.ok) return planned;
      const { config } = planned.value.plan;
      // Nothing is said in such a run: it only looks back.
      const plan: RunPlan = { config: { ...config, task: "compact" }, content: [] };
      const { credentials } = planned.value;
      return stub(caller, id).compact({ plan, credentials, onBusy: "reject", repeat: undefined });
    },
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
function feed(stub: () => DurableObjectStub<Session>, cursor: number, runId: string | undefined): Feed {
  return {
    cursor,
    runId,
    async connect(after): Promise<Answer<FrameSocket>> {
      const run = runId === undefined ? "" : `&run=${encodeURIComponent(runId)}`;
      const url = `http://session/ws?after=${after}${run}`;
      const response = await stub().fetch(url, { headers: { upgrade: "websocket" } });
      const socket = response.webSocket;
      if (!socket) return (await response.json()) as { ok: false; error: Refusal };
      return ok(socket);
    },
  };
}

function readListCursor(cursor: string): { created_at: string; session_id: string } | undefined {
  const [created_at, session_id] = fromCursor(cursor)?.split(" ") ?? [];
  if (created_at === undefined || !SessionId.safeParse(session_id).success || session_id === undefined)
    return undefined;
  return Number.isNaN(Date.parse(created_at)) ? undefined : { created_at, session_id };
}
