import { type Bindings, readConfig } from "../src/compose/bindings.ts";
import { type Deployment, sharedDeployment } from "../src/compose/deployment.ts";
import { composeEngine } from "../src/compose/engine.ts";
import { repositoryOf } from "../src/compose/git.ts";
import { composeMcp, createObjectMcpStore, withMcpTools } from "../src/compose/mcp.ts";
import { composeAudit, composeDirectory } from "../src/compose/ports.ts";
import { prepareWorkspace } from "../src/compose/sandbox.ts";
import { composeRedactor } from "../src/compose/secrets.ts";
import type { AuditQuery, AuditRecord, ChainHead, ChainVerdict } from "../src/contract/audit.ts";
import type { Config } from "../src/contract/config.ts";
import type { Credentials } from "../src/contract/credentials.ts";
import type { RunConfig, RunPlan } from "../src/contract/log.ts";
import type { Redactor } from "../src/contract/redaction.ts";
import { type Answer, refuse } from "../src/contract/refusal.ts";
import type { PermissionReply } from "../src/contract/requests.ts";
import { ok } from "../src/contract/result.ts";
import { type SandboxBackend, workspaceRoot } from "../src/contract/sandbox-backend.ts";
import type {
  Compaction,
  FileContent,
  FileListing,
  HistoryMessage,
  Idempotency,
  OpenDecision,
  Page,
  SessionInfo,
  SessionStatsView,
} from "../src/contract/sessions.ts";
import type { EngineDeps } from "../src/engine/deps.ts";
import type { Mcp } from "../src/mcp/index.ts";
import { BookObject } from "./book-object.ts";
import { FrameHub } from "./frame-hub.ts";
import { createBookDirectory } from "./object-directory.ts";
import { RunCredentials } from "./run-credentials.ts";
import { SessionAlarm } from "./session-alarm.ts";
import { SessionAnswers } from "./session-answers.ts";
import { dropArchive, packWorkspace, readPart } from "./session-archive.ts";
import { pageOfAudit, verifyOwnAudit } from "./session-audit.ts";
import { SessionDriver } from "./session-driver.ts";
import { getFile, putFile, removeFile } from "./session-files.ts";
import {
  type CopyPage,
  type CopyPosition,
  closingEntries,
  copyFiles,
  copySession,
  type ForkPoint,
  filesStamp,
  readCopy,
  settledPoint,
  writeCopy,
} from "./session-fork.ts";
import { SessionJournal } from "./session-journal.ts";
import { SessionOutbox } from "./session-outbox.ts";
import { SessionQueries } from "./session-queries.ts";
import { SessionStore } from "./session-store.ts";
import { SessionStreams } from "./session-streams.ts";
import { type NewWorkspace, newWorkspace, SessionWorkspace } from "./session-workspace.ts";

/** Messages that may wait behind a run (H-6). */
const QUEUE_MAX = 16;
/** What the outbox could not deliver is tried again after this time. */
const OUTBOX_RETRY_MS = 20_000;

export type StartRequest = {
  readonly plan: RunPlan;
  readonly credentials: Credentials | undefined;
  readonly onBusy: "reject" | "queue";
  readonly repeat: Idempotency | undefined;
};

export type CreatedSession = { readonly session_id: string; readonly created_at: string };

/** What a started run is followed by: the stream begins after `cursor`. */
export type Started = { readonly cursor: number; readonly runId: string };

/**
 * One session: a thin shell around the journal and the driver. Decides purely, writes, then acts; holds nothing while a
 * question waits, so it may be unloaded at any time (architecture, ideas 1 and 2).
 */
export class Session extends BookObject {
  readonly #config: Config;
  readonly #store: SessionStore;
  readonly #hub: FrameHub;
  readonly #journal: SessionJournal;
  readonly #driver: SessionDriver;
  readonly #queries: SessionQueries;
  readonly #streams: SessionStreams;
  readonly #answers: SessionAnswers;
  readonly #workspace: SessionWorkspace;
  #mcpMade: { readonly mcp: Mcp | undefined } | undefined;
  readonly #alarm: SessionAlarm;
  /** Being deleted: nothing new begins. */
  #removing = false;
  readonly #credentials: RunCredentials;
  readonly #outbox: SessionOutbox;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#config = readConfig(env);
    this.#store = new SessionStore(ctx.storage);
    this.#alarm = new SessionAlarm(ctx.storage);
    this.#workspace = new SessionWorkspace(env, this.#config, ctx.storage, this.#store);
    this.#hub = new FrameHub(ctx);
    this.#journal = new SessionJournal(
      this.#store,
      this.#hub,
      () => workspaceRoot(this.#store.meta()?.backend ?? "virtual"),
      Date.now,
    );
    this.#queries = new SessionQueries(this.#store, this.#journal);
    this.#credentials = new RunCredentials(this.#store, this.#config.ENCRYPTION_KEY);
    this.#outbox = new SessionOutbox({
      store: this.#store,
      audit: composeAudit(env),
      secret: this.#config.ENCRYPTION_KEY,
      directory: composeDirectory(env) ?? createBookDirectory(env.SESSION),
      messageCount: () => this.#journal.fold.messages.length,
      hold: (work) => ctx.waitUntil(work),
      tried: () => this.#schedule(),
    });
    this.#driver = new SessionDriver({
      journal: this.#journal,
      store: this.#store,
      engine: (config) => this.#engine(config),
      hold: (work) => ctx.waitUntil(work),
      changed: () => this.#onChange(),
      runMs: this.#config.RUN_MAX_SECONDS * 1000,
      log: (error) => console.error("session run failed", error instanceof Error ? error.stack : String(error)),
    });
    this.#answers = new SessionAnswers({
      store: this.#store,
      journal: this.#journal,
      driver: this.#driver,
      redactor: () => this.#redactor(),
      tool: async (name) => this.#deployment().tools.get(name) ?? (await this.#mcp()?.knownTool(name)),
      queueMs: this.#config.QUEUE_TIMEOUT_SECONDS * 1000,
    });
    this.#streams = new SessionStreams({
      store: this.#store,
      journal: this.#journal,
      hub: this.#hub,
      queries: this.#queries,
      running: () => this.#driver.running,
    });
  }

  async create(
    tenant: string,
    sessionId: string,
    createdAt: string,
    key: string | undefined,
    backend: SandboxBackend | undefined,
  ): Promise<Answer<CreatedSession>> {
    const known = this.#store.meta();
    if (known && key !== undefined && known.key === key)
      return ok({ session_id: known.sessionId, created_at: known.createdAt });
    if (known) return refuse("conflict_error", `session ${sessionId} already exists`);
    this.#make(tenant, sessionId, createdAt, key, newWorkspace(backend ?? this.#config.SANDBOX_BACKEND));
    await this.#publish();
    return ok({ session_id: sessionId, created_at: createdAt });
  }

  /** Becomes a copy of another session up to its last settled point; nothing is shared afterwards. */
  async forkFrom(
    source: DurableObjectStub<Session>,
    tenant: string,
    id: string,
    at: string,
  ): Promise<Answer<CreatedSession>> {
    const exists = refuse("conflict_error", `session ${id} already exists`);
    if (this.#store.meta()) return exists;
    const copied = await copySession(source);
    if (!copied.ok) return copied;
    const { point, pages } = copied.value;
    const place = newWorkspace(point.backend);
    const filled = await this.#fill(place, source, id);
    if (!filled.ok || this.#store.meta()) {
      await this.#workspace.at(place).remove();
      return filled.ok ? exists : filled;
    }
    this.#store.transaction(() => {
      this.#make(tenant, id, at, undefined, place);
      for (const page of pages) writeCopy(this.ctx.storage.sql, page.parts);
      this.#store.forget();
      const now = Date.now();
      this.#store.append("", closingEntries(this.#store.entries(), point, now), now);
    });
    await this.#publish();
    return ok({ session_id: id, created_at: at });
  }

  /** Where a fork may cut the log: after the last whole turn. */
  settledPoint(): Answer<ForkPoint> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const stamp = filesStamp(this.ctx.storage.sql);
    const { sessionId, backend = "virtual" } = meta;
    const { running } = this.#driver;
    return ok({ ...settledPoint(this.#store.entries()), sessionId, stamp, backend, running });
  }

  copyPage(logEnd: number, from: CopyPosition): CopyPage {
    return readCopy(this.ctx.storage.sql, logEnd, from);
  }

  async packFiles(archive: string): Promise<Answer<number>> {
    return packWorkspace(this.#workspace.sandbox, archive);
  }

  async packedPart(archive: string, part: number): Promise<Answer<Uint8Array>> {
    return readPart(this.#workspace.sandbox, archive, part);
  }

  async dropPacked(archive: string): Promise<void> {
    await dropArchive(this.#workspace.sandbox, archive);
  }

  info(): Answer<SessionInfo> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const messages = this.#journal.fold.messages.length;
    return ok({ session_id: meta.sessionId, created_at: meta.createdAt, message_count: messages });
  }

  /** Ends what runs, hands the audit over, frees all storage; the id can be used again (H-5). */
  async remove(): Promise<Answer<void>> {
    const meta = this.#store.meta();
    if (!meta || this.#removing) return notFound();
    this.#removing = true;
    try {
      this.#store.clearQueue();
      await this.#driver.cancel("the session was deleted");
      if (!(await this.#outbox.flush())) return refuse("internal_error", "the audit could not be stored; try again");
      this.#hub.endAll();
      await this.#workspace.drop();
      await this.#mcp()?.close();
      await this.#alarm.remove();
      const deleted = this.ctx.storage.deleteAll();
      // At once: whoever asks meanwhile must not be told of a session that is gone.
      this.#journal.reset();
      await deleted;
      this.#credentials.clear();
      this.#mcpMade = undefined;
    } finally {
      this.#removing = false;
    }
    await (composeDirectory(this.env) ?? createBookDirectory(this.env.SESSION)).remove(meta.tenant, meta.sessionId);
    return ok(undefined);
  }

  /** Stores the message and begins (or queues) its run; the run belongs to the object from here on. */
  async begin(request: StartRequest): Promise<Answer<Started>> {
    if (!this.#store.meta()) return notFound();
    const { plan, credentials, repeat } = request;
    const runId = plan.config.run_id;
    const sealed = credentials ? await this.#credentials.seal(runId, credentials) : undefined;
    if (!this.#store.meta() || this.#removing) return notFound();
    const first = repeat && this.#store.keyOf(repeat.key);
    if (first && first.digest !== repeat.bodyDigest) {
      return refuse("conflict_error", "Idempotency-Key was used for another request");
    }
    if (first) return ok({ cursor: first.cursor, runId: first.runId });
    const busy = this.#driver.busy || this.#store.queueLength() > 0;
    if (busy && request.onBusy !== "queue") {
      return refuse("conflict_error", "a run is already going in this session; wait for it, or send on_busy: queue");
    }
    if (busy && this.#store.queueLength() >= QUEUE_MAX) {
      return refuse("conflict_error", `the session's queue is full (${QUEUE_MAX} messages)`);
    }
    const cursor = this.#journal.last;
    // All of it or nothing: a key that is known belongs to a run that is there.
    this.#store.transaction(() => {
      if (credentials) this.#credentials.keep(runId, credentials, sealed);
      if (repeat) this.#store.saveKey(repeat.key, repeat.bodyDigest, runId, cursor);
      if (!busy) return this.#driver.begin(plan);
      this.#store.enqueue(plan, Date.now());
      const position = this.#store.queueLength();
      this.#journal.commit(runId, { entries: [], events: [{ type: "queued", position }], audit: [] });
    });
    // The limit of its wait may come before everything else the alarm stands for.
    if (busy) this.#schedule();
    this.#driver.ensure();
    return ok({ cursor, runId });
  }

  /** Answers an open question, once (H-7, E-16). Returns before the tool runs. */
  async answer(decisionId: string, reply: PermissionReply): Promise<Answer<void>> {
    return this.#store.meta() ? this.#answers.answer(decisionId, reply) : notFound();
  }

  /** Makes the model's context smaller in a run of its own; answers when it has ended. */
  async compact(request: StartRequest): Promise<Answer<Compaction>> {
    if (!this.#store.meta()) return notFound();
    if (this.#driver.busy || this.#store.queueLength() > 0)
      return refuse("conflict_error", "a run is going in this session; its context can be compacted when it has ended");
    const earlier = this.#journal.fold.lastCompaction;
    const begun = await this.begin(request);
    if (!begun.ok) return begun;
    await this.#driver.ended(begun.value.runId);
    const outcome = this.#journal.fold.run?.outcome;
    const made = this.#journal.fold.lastCompaction;
    const { before, after } = made && made !== earlier ? made : { before: 0, after: 0 };
    if (outcome?.type === "error") return refuse("internal_error", `the context was not compacted: ${outcome.message}`);
    return ok({ compacted: after < before, tokens_before: before, tokens_after: after });
  }

  /** Whom the session's last run talked to; undefined before the first. */
  lastModel(): Answer<{ readonly provider: string; readonly model: string } | undefined> {
    if (!this.#store.meta()) return notFound();
    const config = this.#journal.fold.run?.config;
    return ok(config && { provider: config.provider, model: config.model });
  }

  openDecisions(): Answer<readonly OpenDecision[]> {
    if (!this.#store.meta()) return notFound();
    this.#answers.expire();
    return ok(this.#queries.openDecisions());
  }

  async cancelRun(reason: string): Promise<Answer<{ cancelled: boolean }>> {
    if (!this.#store.meta()) return notFound();
    const { redact } = await this.#redactor();
    return ok({ cancelled: await this.#driver.cancel(redact(reason)) });
  }

  /** Messages, newest first. */
  history(limit: number, cursor: string | undefined): Answer<Page<HistoryMessage>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    return this.#queries.history(meta, limit, cursor);
  }

  async stats(): Promise<Answer<SessionStatsView>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const git = await repositoryOf(this.#workspace.sandbox, this.#journal.fold.facts.cwd);
    const shown = git ? { branch: git.branch ?? null, dirty: git.dirty, root: git.root } : null;
    return ok({ ...this.#queries.stats(meta.sessionId), git: shown });
  }

  /** Where the audit's chain ends, once all entries are delivered. */
  async auditHead(): Promise<ChainHead | undefined> {
    if (!this.#store.meta()) return undefined;
    await this.#outbox.flush();
    return this.#outbox.head();
  }

  async auditPage(query: AuditQuery): Promise<Answer<Page<AuditRecord>>> {
    const meta = this.#store.meta();
    return meta ? pageOfAudit(this.#store, this.#outbox, meta, query) : notFound();
  }

  async auditVerdict(): Promise<Answer<ChainVerdict>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    return ok(await verifyOwnAudit(this.#store, this.#outbox, meta, this.#config.ENCRYPTION_KEY));
  }

  /** Whether this session can have given the number; one above its mark was never given. */
  checkCursor(after: number): Answer<void> {
    if (!this.#store.meta()) return notFound();
    if (after <= this.#journal.highest) return ok(undefined);
    return refuse("invalid_request_error", "Last-Event-ID was never given by this session");
  }

  async readFile(path: string): Promise<Answer<FileContent | FileListing>> {
    return this.#store.meta() ? getFile(this.#workspace.sandbox, path) : notFound();
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<Answer<void>> {
    return this.#store.meta() ? putFile(this.#workspace.sandbox, path, bytes) : notFound();
  }

  async deleteFile(path: string): Promise<Answer<void>> {
    return this.#store.meta() ? removeFile(this.#workspace.sandbox, path) : notFound();
  }

  /** The socket of one stream: `after` is the last number seen, `run` limits it to one run. */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const after = Number(url.searchParams.get("after") ?? "0");
    const run = url.searchParams.get("run") ?? undefined;
    if (!Number.isSafeInteger(after) || after < 0) return Response.json(refuse("invalid_request_error", "bad cursor"));
    const valid = this.checkCursor(after);
    if (!valid.ok) return Response.json(valid);
    this.#driver.ensure();
    this.#dropOldEvents();
    return this.#streams.open(after, run);
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 are never sent on the wire.
    socket.close(code === 1005 || code === 1006 ? 1000 : code, "closed");
  }

  /** Heartbeat, deadlines and outbox behind one alarm. Never throws: a handler that does is dropped in the end. */
  override async alarm(): Promise<void> {
    this.#alarm.wentOff();
    try {
      if (!this.#store.meta()) return;
      if (this.#driver.running || !this.#store.isAtRest()) {
        this.#answers.expire();
        this.#driver.ensure();
      }
      await this.#outbox.flush();
    } catch (error) {
      console.error("session alarm failed", error instanceof Error ? error.stack : String(error));
    }
    this.#schedule();
  }

  #make(tenant: string, sessionId: string, createdAt: string, key: string | undefined, place: NewWorkspace): void {
    const { incarnation, backend, machine } = place;
    this.#store.transaction(() => {
      this.#store.create({ tenant, sessionId, createdAt, incarnation, backend, ...(key === undefined ? {} : { key }) });
      if (machine !== undefined) this.#store.setMachine(machine);
      prepareWorkspace(this.ctx.storage);
    });
  }

  /** Files of a fork that lie on another machine are there before the session is. */
  async #fill(place: NewWorkspace, source: DurableObjectStub<Session>, id: string): Promise<Answer<void>> {
    return place.backend === "virtual" ? ok(undefined) : copyFiles(source, this.#workspace.at(place).sandbox, id);
  }

  /** The new session is in the list before its maker is answered; a list that cannot be reached gets it later. */
  async #publish(): Promise<void> {
    // Its row is owed from here on; and the alarm is there already when the first message comes.
    this.#schedule();
    await this.#outbox.flush();
  }

  #onChange(): void {
    if (!this.#store.meta()) return;
    if (!this.#driver.running) {
      this.#store.setUnlisted(true);
      this.#store.dropEventsBut(this.#config.EVENTS_KEPT);
      this.#dropOldEvents();
      this.#credentials.forgetAllBut(this.#journal.fold.run?.config.run_id);
    }
    this.#schedule();
    this.#outbox.nudge();
  }

  /** A run that waits for an answer may be older than what is kept of ended ones. */
  #dropOldEvents(): void {
    const seconds = this.#config.EVENTS_MAX_AGE_SECONDS;
    if (seconds > 0 && !this.#driver.busy) this.#store.dropEventsOlder(Date.now() - seconds * 1000);
  }

  /** The one alarm stands at the earliest of: heartbeat of a running loop, deadline of a question, outbox retry. */
  #schedule(): void {
    if (!this.#store.meta()) return;
    const now = Date.now();
    const times = this.#store.openDecisions().map((decision) => decision.deadline);
    if (this.#driver.running || this.#driver.unfinished) times.push(now + this.#config.HEARTBEAT_SECONDS * 1000);
    const queued = this.#store.oldestQueued();
    if (queued !== undefined) times.push(queued + this.#config.QUEUE_TIMEOUT_SECONDS * 1000);
    if (this.#outbox.waiting) times.push(now + OUTBOX_RETRY_MS);
    this.#alarm.set(times, now);
  }

  /** Asked for when a run needs it: a look-up or an alarm does not. */
  #deployment(): Deployment {
    return sharedDeployment(this.env, this.#config);
  }

  /** Its MCP servers, as this session uses them. */
  #mcp(): Mcp | undefined {
    const own = { env: this.env, config: this.#config };
    this.#mcpMade ??= { mcp: composeMcp(own, createObjectMcpStore(this.ctx.storage)) };
    return this.#mcpMade.mcp;
  }

  /** The deployment with the tools of its MCP servers, as a run has them. */
  async #equipped(runId: string): Promise<Deployment> {
    const mcp = this.#mcp();
    return mcp ? withMcpTools(this.#deployment(), await mcp.tools(runId)) : this.#deployment();
  }

  /** For what people say about the current run: their words are stored, a secret in them is not. */
  async #redactor(): Promise<Redactor> {
    const runId = this.#journal.fold.run?.config.run_id;
    return composeRedactor(this.env, runId === undefined ? undefined : await this.#credentials.of(runId));
  }

  async #engine(config: RunConfig): Promise<Answer<EngineDeps>> {
    const meta = this.#store.meta();
    if (!meta) return notFound();
    const credentials = config.own_credentials ? await this.#credentials.of(config.run_id) : undefined;
    if (config.own_credentials && !credentials) {
      return refuse(
        "invalid_request_error",
        "the run's own key or secrets are gone (ENCRYPTION_KEY is not set, or was changed); send the message again",
      );
    }
    return composeEngine({
      // A run that only has to be ended calls nothing any more.
      deployment:
        this.#journal.fold.run?.cancelled !== undefined ? this.#deployment() : await this.#equipped(config.run_id),
      run: config,
      credentials,
      sandbox: this.#workspace.sandbox,
      sessionId: meta.sessionId,
      spill: true,
    });
  }
}

function notFound(): { readonly ok: false; readonly error: { type: "not_found_error"; message: string } } {
  return { ok: false, error: { type: "not_found_error", message: "session not found" } };
}
