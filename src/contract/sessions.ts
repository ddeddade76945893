import type { ElicitationField } from "./elicitation.ts";
import type { TodoItem } from "./facts.ts";
import type { Message } from "./messages.ts";
import type { Answer } from "./refusal.ts";
import type { CancelRequest, CompactRequest, MessageRequest, PermissionReply, RunRequest } from "./requests.ts";
import type { TenantSettings } from "./tenants.ts";

/** Who asks: found from the bearer token; lives for one request. */
export type Caller = {
  readonly tenant: string;
  readonly requestId: string;
  /** The tenant's own settings, if it has any. */
  readonly settings?: TenantSettings | undefined;
  /** Per-request provider choice and key (G-3); never stored in clear, logged or echoed. */
  readonly provider?: { readonly name?: string; readonly key?: string; readonly baseUrl?: string } | undefined;
};

/** What a compaction came to; token counts are estimates. */
export type Compaction = { readonly compacted: boolean; readonly tokens_before: number; readonly tokens_after: number };

export type SessionInfo = { readonly session_id: string; readonly created_at: string; readonly message_count: number };

export type Page<T> = { readonly data: readonly T[]; readonly next_cursor: string | null };

/** A message of the history as the API shows it. */
export type HistoryMessage = Message & { readonly id: string; readonly run_id: string; readonly created_at: string };

export type OpenDecision = {
  readonly id: string;
  readonly kind: string;
  /** The sub-agent that asks; absent: the session's own agent. */
  readonly subagent_id?: string;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly expires_at: string;
  /** Of an elicitation: who asks, and for what. */
  readonly server?: string;
  readonly fields?: readonly ElicitationField[];
};

/**
 * One connection to a session's frames: a WebSocket whose text messages are ready-made SSE text, each frame starting
 * with `id: <seq>\n`. The far side closes it with 4000 when nothing more will come, with 4004 when the session is gone.
 */
export type FrameSocket = WebSocket;
export const SOCKET_DONE = 4000;
export const SOCKET_GONE = 4004;

/** A started (or followed) run: open sockets until the stream has ended. `connect` is called again with the last id after a loss. */
export type Feed = {
  /** Id after which the stream begins. */
  readonly cursor: number;
  /** The one run it shows; undefined: all of them. */
  readonly runId: string | undefined;
  connect(after: number): Promise<Answer<FrameSocket>>;
};

/** Figures of a session (P-2), folded from its log. */
export type SessionStatsView = {
  readonly session_id: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly cost_usd: number;
  /** Prices of an unknown model, or a call whose usage nobody reported, are in the sums. */
  readonly estimated: boolean;
  readonly runs: number;
  readonly turns: number;
  readonly messages: number;
  readonly tool_calls: number;
  readonly tool_errors: number;
  readonly denials: number;
  readonly denied_tools: Readonly<Record<string, number>>;
  /** Denials since the last call that was let through. */
  readonly denials_in_a_row: number;
  /** Questions the permission classifier looked at, and how many of them it answered with yes. */
  readonly classified: number;
  readonly classified_allowed: number;
  readonly compactions: number;
  readonly subagents: number;
  readonly file_cache_hits: number;
  readonly file_cache_misses: number;
  readonly todos: readonly TodoItem[];
  /** The workspace's repository (P-4); null: none. */
  readonly git: { readonly branch: string | null; readonly dirty: boolean; readonly root: string } | null;
  readonly restarts: number;
  readonly errors: number;
};

/** A repeat of a request by its `Idempotency-Key` (H-21): same key and body attach to the first one. */
export type Idempotency = { readonly key: string; readonly bodyDigest: string };

export type FileContent = { readonly kind: "file"; readonly bytes: Uint8Array };
export type FileListing = {
  readonly kind: "directory";
  readonly entries: readonly { readonly name: string; readonly kind: string; readonly size: number }[];
};

/** What the HTTP surface needs of sessions. Every answer is plain data; a missing session is `not_found_error`. */
export type SessionsPort = {
  create(
    caller: Caller,
    id: string | undefined,
    repeat?: Idempotency,
  ): Promise<Answer<{ session_id: string; created_at: string }>>;
  /** This tenant's sessions, newest first. */
  list(caller: Caller, page: { limit: number; cursor: string | undefined }): Promise<Answer<Page<SessionInfo>>>;
  info(caller: Caller, id: string): Promise<Answer<SessionInfo>>;
  remove(caller: Caller, id: string): Promise<Answer<void>>;
  send(caller: Caller, id: string, request: MessageRequest, repeat?: Idempotency): Promise<Answer<Feed>>;
  /** Every event after a number, then live; over all runs. A number this session never gave is refused. */
  follow(caller: Caller, id: string, after: number): Promise<Answer<Feed>>;
  stats(caller: Caller, id: string): Promise<Answer<SessionStatsView>>;
  /** A new session with the same history and files, sharing nothing afterwards. */
  fork(
    caller: Caller,
    id: string,
    newId: string | undefined,
  ): Promise<Answer<{ session_id: string; created_at: string }>>;
  answer(caller: Caller, id: string, decisionId: string, reply: PermissionReply): Promise<Answer<void>>;
  openDecisions(caller: Caller, id: string): Promise<Answer<readonly OpenDecision[]>>;
  cancel(caller: Caller, id: string, request: CancelRequest): Promise<Answer<{ cancelled: boolean }>>;
  /** Makes the model's context smaller now; refused while a run is going. */
  compact(caller: Caller, id: string, request: CompactRequest): Promise<Answer<Compaction>>;
  history(
    caller: Caller,
    id: string,
    page: { limit: number; cursor: string | undefined },
  ): Promise<Answer<Page<HistoryMessage>>>;
  readFile(caller: Caller, id: string, path: string): Promise<Answer<FileContent | FileListing>>;
  writeFile(caller: Caller, id: string, path: string, bytes: Uint8Array): Promise<Answer<void>>;
  removeFile(caller: Caller, id: string, path: string): Promise<Answer<void>>;
};

/**
 * The stateless run (H-2): ready-made SSE text, ended by one terminal frame. Aborting the signal cancels the run and its
 * upstream request. Refused before any event when the request cannot be run at all.
 */
export type RunnerPort = {
  run(caller: Caller, request: RunRequest, signal: AbortSignal): Promise<Answer<AsyncIterable<string>>>;
};

/** A sliding window per key; exact across isolates (H-14). */
export type LimiterPort = {
  /** Counts one call. `retryAfterMs` > 0 when it is over the limit (then it is not counted). */
  take(key: string, limit: number): Promise<{ readonly allowed: boolean; readonly retryAfterMs: number }>;
  /** Takes back the newest call counted under the key. */
  giveBack(key: string): Promise<void>;
};
