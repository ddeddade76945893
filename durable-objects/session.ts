import { DurableObject } from "cloudflare:workers";
import { type Bindings, composeAudit, composeEngine, composeSandbox, readConfig } from "../src/compose.ts";
import type { AuditEntry } from "../src/contract/audit.ts";
import type { Config } from "../src/contract/config.ts";
import { Credentials } from "../src/contract/credentials.ts";
import { isTerminal } from "../src/contract/events.ts";
import type { RunConfig, RunPlan } from "../src/contract/log.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import type { PermissionReply } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import type { Sandbox } from "../src/contract/sandbox.ts";
import type {
  FileContent,
  FileListing,
  HistoryMessage,
  OpenDecision,
  Page,
  SessionInfo,
} from "../src/contract/sessions.ts";
import { SOCKET_DONE } from "../src/contract/sessions.ts";
import type { EngineDeps } from "../src/engine/deps.ts";
import { pageOf } from "../src/session/page.ts";
import { FrameHub } from "./frame-hub.ts";
import { SessionDriver } from "./session-driver.ts";
import { getFile, putFile, removeFile } from "./session-files.ts";
import { SessionJournal } from "./session-journal.ts";
import { SessionStore } from "./session-store.ts";

/** Messages that may wait behind a run (H-6). */
const QUEUE_MAX = 16;
/** An outbox entry is in D1 within about this time. */
const AUDIT_FLUSH_MS = 1_000;
const AUDIT_RETRY_MS = 10_000;
const AUDIT_BATCH = 200;

export type StartRequest = {
  readonly plan: RunPlan;
  readonly credentials: Credentials | undefined;
  readonly onBusy: "reject" | "queue";
};

/** What a started run is followed by: the stream begins after `cursor`. */
export type Started = { readonly cursor: number; readonly queuePosition: number };

/**
 * One session: a thin shell around the journal and the driver. Decides purely, writes, then acts; holds nothing while a
 * question waits, so it may be unloaded at any time (architecture, ideas 1 and 2).
 */
export class Session extends DurableObject<Bindings> {
  readonly #config: Config;
  readonly #store: SessionStore;
  readonly #hub: FrameHub;
  readonly #journal: SessionJournal;
  readonly #driver: SessionDriver;
  #sandboxMade: Sandbox | undefined;
  /** Keys of runs of this life; the sealed form in the table outlives it. */
  readonly #credentials = new Map<string, Credentials>();
  #auditTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#config = readConfig(env);
    this.#store = new SessionStore(ctx.storage);
    this.#hub = new FrameHub(ctx);
    this.#journal = new SessionJournal(this.#store, this.#hub, "/workspace", Date.now);
    this.#driver = new SessionDriver({
      journal: this.#journal,
      store: this.#store,
      engine: (config) => this.#engine(config),
      hold: (work) => ctx.waitUntil(work),
      changed: () => this.#onChange(),
      log: (error) => console.error("session run failed", error instanceof Error ? error.stack : String(error)),
    });
  }

  create(tenant: string, sessionId: string, createdAt: string): Answer<{ session_id: string; created_at: string }> {
    if (this.#store.meta()) return refuse("conflict_error", `session ${sessionId} already exists`);
    const incarnation = crypto.randomUUID();
    this.#store.transaction(() => {
      this.#store.create({ tenant, sessionId, createdAt, incarnation });
      composeSandbox(this.#config, this.ctx.storage).prepare();
    });
    return ok({ session_id: sessionId, created_at: createdAt });
  }

  info(): Answer<SessionInfo> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const messages = this.#journal.fold.messages.length;
    return ok({ session_id: meta.sessionId, created_at: meta.createdAt, message_count: messages });
  }

  /** Ends what runs, hands the audit over, frees all storage; the id can be used again (H-5). */
  async remove(): Promise<Answer<void>> {
    if (!this.#store.meta()) return notFound();
    await this.#driver.cancel("the session was deleted");
    if (!(await this.#flushAudit())) return refuse("internal_error", "the audit could not be stored; try again");
    this.#hub.endAll();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#journal.reset();
    this.#credentials.clear();
    this.#sandboxMade = undefined;
    return ok(undefined);
  }

  /** Stores the message and begins (or queues) its run; the run belongs to the object from here on. */
  async begin(request: StartRequest): Promise<Answer<Started>> {
    if (!this.#store.meta()) return notFound();
    const { plan, credentials } = request;
    const runId = plan.config.run_id;
    const sealed = credentials ? await this.#seal(runId, credentials) : undefined;
    const busy = this.#driver.busy || this.#store.queueLength() > 0;
    if (busy && request.onBusy !== "queue") {
      return refuse("conflict_error", "a run is already going in this session; wait for it, or send on_busy: queue");
    }
    if (busy && this.#store.queueLength() >= QUEUE_MAX) {
      return refuse("conflict_error", `the session's queue is full (${QUEUE_MAX} messages)`);
    }
    const cursor = this.#journal.last;
    if (credentials) this.#credentials.set(runId, credentials);
    if (sealed !== undefined) this.#store.saveCredentials(runId, sealed);
    if (!busy) {
      this.#driver.start(plan);
      return ok({ cursor, queuePosition: 0 });
    }
    this.#store.enqueue(plan);
    const position = this.#store.queueLength();
    this.#journal.commit(runId, { entries: [], events: [{ type: "queued", position }], audit: [] });
    this.#driver.ensure();
    return ok({ cursor, queuePosition: position });
  }

  /** Answers an open question, once (H-7). Returns before the tool runs. */
  answer(decisionId: string, reply: PermissionReply): Answer<void> {
    if (!this.#store.meta()) return notFound();
    const state = this.#store.decisionState(decisionId);
    const unknown = refuse("not_found_error", `permission request ${decisionId} is unknown or has timed out`);
    if (state === undefined || state === "timeout" || state === "void") return unknown;
    if (state === "answered") return refuse("conflict_error", `permission request ${decisionId} was already answered`);
    this.#expire();
    const open = this.#store.openDecisions().find((decision) => decision.decision_id === decisionId);
    if (!open || !this.#store.closeDecision(decisionId, "answered")) return unknown;
    this.#driver.settle(open.runId, {
      kind: "decision_settled",
      decision_id: decisionId,
      call_id: open.call_id,
      allow: reply.allow,
      reason: reply.reason ?? (reply.allow ? "allowed by the user" : "denied by the user"),
      by: "user",
    });
    return ok(undefined);
  }

  openDecisions(): Answer<readonly OpenDecision[]> {
    if (!this.#store.meta()) return notFound();
    this.#expire();
    return ok(
      this.#store.openDecisions().map((decision) => ({
        id: decision.decision_id,
        kind: decision.decision_kind,
        tool_name: decision.tool_name,
        tool_call_id: decision.call_id,
        input: decision.input,
        message: decision.message,
        expires_at: new Date(decision.deadline).toISOString(),
      })),
    );
  }

  async cancelRun(reason: string): Promise<Answer<{ cancelled: boolean }>> {
    if (!this.#store.meta()) return notFound();
    return ok({ cancelled: await this.#driver.cancel(reason) });
  }

  /** Messages, newest first. */
  history(limit: number, cursor: string | undefined): Answer<Page<HistoryMessage>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const { messages } = this.#journal.fold;
    const all = this.#journal.history().flatMap(({ runId, at, index }) => {
      const message = messages[index];
      const id = `msg_${index + 1}`;
      return message ? [{ id, run_id: runId, created_at: new Date(at).toISOString(), ...message }] : [];
    });
    return pageOf(all.reverse(), limit, cursor, meta.incarnation);
  }

  async readFile(path: string): Promise<Answer<FileContent | FileListing>> {
    return this.#store.meta() ? getFile(this.#sandbox(), path) : notFound();
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<Answer<void>> {
    return this.#store.meta() ? putFile(this.#sandbox(), path, bytes) : notFound();
  }

  async deleteFile(path: string): Promise<Answer<void>> {
    return this.#store.meta() ? removeFile(this.#sandbox(), path) : notFound();
  }

  /** The socket of one stream: `after` is the last number seen, `run` limits it to one run. */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const after = Number(url.searchParams.get("after") ?? "0");
    const run = url.searchParams.get("run") ?? undefined;
    if (!this.#store.meta()) return Response.json(notFound());
    if (!Number.isSafeInteger(after) || after < 0 || after > this.#journal.highest) {
      return Response.json(refuse("invalid_request_error", "the event id was never given by this session"));
    }
    this.#driver.ensure();
    const { 0: client, 1: server } = new WebSocketPair();
    this.#hub.accept(server, run);
    this.#journal.replay(after, run, (text) => server.send(text));
    if (run !== undefined && this.#runIsOver(run)) server.close(SOCKET_DONE, "run ended");
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 are never sent on the wire.
    socket.close(code === 1005 || code === 1006 ? 1000 : code, "closed");
  }

  /** Heartbeat, deadlines and outbox behind one alarm. Never throws: a handler that does is dropped in the end. */
  override async alarm(): Promise<void> {
    try {
      if (!this.#store.meta()) return;
      this.#expire();
      this.#driver.ensure();
      await this.#flushAudit();
    } catch (error) {
      console.error("session alarm failed", error instanceof Error ? error.stack : String(error));
    }
    this.#schedule();
  }

  /** Takes audit entries of stateless runs where there is no D1: the object is then a tenant's audit book. */
  recordAudit(tenant: string, entries: readonly AuditEntry[]): void {
    if (!this.#store.meta()) {
      const createdAt = new Date().toISOString();
      this.#store.create({ tenant, sessionId: "~audit", createdAt, incarnation: crypto.randomUUID() });
    }
    this.#store.addAudit(entries);
  }

  /** Questions whose time is over are denied (T-4). */
  #expire(): void {
    const now = Date.now();
    for (const decision of this.#store.openDecisions()) {
      if (decision.deadline > now || !this.#store.closeDecision(decision.decision_id, "timeout")) continue;
      this.#driver.settle(decision.runId, {
        kind: "decision_settled",
        decision_id: decision.decision_id,
        call_id: decision.call_id,
        allow: false,
        reason: "nobody answered the permission request in time",
        by: "timeout",
      });
    }
  }

  #onChange(): void {
    this.#schedule();
    if (!this.#store.auditWaiting() || !composeAudit(this.env)) return;
    this.#auditTimer ??= setTimeout(() => {
      this.#auditTimer = null;
      this.ctx.waitUntil(this.#flushAudit());
    }, AUDIT_FLUSH_MS);
  }

  /** The one alarm stands at the earliest of: heartbeat of a running loop, deadline of a question, outbox retry. */
  #schedule(): void {
    if (!this.#store.meta()) return;
    const now = Date.now();
    const times = this.#store.openDecisions().map((decision) => decision.deadline);
    const unfinished = this.#driver.running || this.#store.queueLength() > 0;
    if (unfinished) times.push(now + this.#config.HEARTBEAT_SECONDS * 1000);
    if (composeAudit(this.env) && this.#store.auditWaiting()) times.push(now + AUDIT_RETRY_MS);
    if (times.length > 0) void this.ctx.storage.setAlarm(Math.max(now + 1, Math.min(...times)));
  }

  /** Hands the outbox over to D1; true when nothing is left (or there is no D1 and the outbox is the audit). */
  async #flushAudit(): Promise<boolean> {
    const sink = composeAudit(this.env);
    const tenant = this.#store.meta()?.tenant;
    if (!sink || tenant === undefined) return true;
    try {
      while (true) {
        const batch = this.#store.auditBatch(AUDIT_BATCH);
        if (batch.length === 0) return true;
        await sink.write(tenant, batch);
        if (!this.#store.meta()) return true;
        this.#store.dropAudit(batch);
      }
    } catch (error) {
      console.error("audit flush failed", error instanceof Error ? error.message : String(error));
      return false;
    }
  }

  #runIsOver(run: string): boolean {
    const type = this.#store.lastEventType(run);
    return type !== undefined && isTerminal({ type });
  }

  #sandbox(): Sandbox {
    const sandbox = this.#sandboxMade ?? composeSandbox(this.#config, this.ctx.storage).sandbox;
    this.#sandboxMade = sandbox;
    return sandbox;
  }

  async #engine(config: RunConfig): Promise<Answer<EngineDeps>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const credentials = config.own_key ? await this.#unseal(config.run_id) : undefined;
    if (config.own_key && !credentials) {
      return refuse("invalid_request_error", "the run's own provider key is gone; send the message again");
    }
    return composeEngine({
      env: this.env,
      config: this.#config,
      run: config,
      credentials,
      sandbox: this.#sandbox(),
      sessionId: meta.sessionId,
      spill: true,
    });
  }

  async #seal(runId: string, credentials: Credentials): Promise<string | undefined> {
    const sealer = await this.#sealer();
    return sealer?.seal(JSON.stringify(credentials), this.#sealContext(runId));
  }

  async #unseal(runId: string): Promise<Credentials | undefined> {
    const known = this.#credentials.get(runId);
    if (known) return known;
    const sealed = this.#store.credentials(runId);
    if (sealed === undefined) return undefined;
    const clear = await (await this.#sealer())?.open(sealed, this.#sealContext(runId));
    return clear === undefined ? undefined : Credentials.parse(JSON.parse(clear));
  }

  async #sealer() {
    const { createSealer } = await import("../src/secrets/seal.ts");
    return this.#config.ENCRYPTION_KEY ? createSealer(this.#config.ENCRYPTION_KEY) : undefined;
  }

  #sealContext(runId: string): string {
    const meta = this.#store.meta();
    return `${meta?.tenant}/${meta?.sessionId}/${runId}`;
  }
}

function notFound(): { readonly ok: false; readonly error: { type: "not_found_error"; message: string } } {
  return { ok: false, error: { type: "not_found_error", message: "session not found" } };
}
