import { Config } from "../../../../src/contract/config.ts";
import { refuse } from "../../../../src/contract/refusal.ts";
import { ok } from "../../../../src/contract/result.ts";
import type { Caller, LimiterPort, SessionsPort } from "../../../../src/contract/sessions.ts";
import { createApp } from "../../../../src/http/app.ts";
import type { AppDeps } from "../../../../src/http/deps.ts";
import { createSlidingWindow, type SlidingWindow } from "../../../../src/http/sliding-window.ts";
import { createSingleTokenTenants } from "../../../../src/http/tenants.ts";
import { FakeSocket } from "./fake-socket.ts";

export const DONE = 'event: done\ndata: {"stop_reason":"end_turn"}\n\n';

/** A limiter in memory that writes down every call. */
export function memoryLimiter(now: () => number): LimiterPort & { readonly calls: string[] } {
  const windows = new Map<string, SlidingWindow>();
  const calls: string[] = [];
  const of = (key: string) => {
    const window = windows.get(key) ?? createSlidingWindow(60_000);
    windows.set(key, window);
    return window;
  };
  return {
    calls,
    take: async (key, limit) => {
      calls.push(`take ${key} ${limit}`);
      return of(key).take(now(), limit);
    },
    giveBack: async (key) => {
      calls.push(`give back ${key}`);
      of(key).giveBack();
    },
  };
}

type FakeSession = { created: string; files: Map<string, Uint8Array>; decisions: Map<string, boolean> };

/** Sessions in memory, without an engine; `calls` holds what the routes handed over. */
export function memorySessions(): SessionsPort & { park(id: string): string; readonly calls: unknown[][] } {
  const sessions = new Map<string, FakeSession>();
  const calls: unknown[][] = [];
  const missing = refuse("not_found_error", "session not found");
  let counter = 0;
  const key = (caller: Caller, id: string) => `${caller.tenant}/${id}`;
  const find = (caller: Caller, id: string) => sessions.get(key(caller, id));
  return {
    calls,
    park(id) {
      const decision = `perm_${String(++counter).padStart(6, "0")}`;
      sessions.get(`default/${id}`)?.decisions.set(decision, false);
      return decision;
    },
    async create(caller, id = `sess_${String(++counter).padStart(12, "0")}`) {
      if (find(caller, id)) return refuse("conflict_error", "session exists already");
      const created = "2026-11-01T00:00:00.000Z";
      sessions.set(key(caller, id), { created, files: new Map(), decisions: new Map() });
      return ok({ session_id: id, created_at: created });
    },
    async info(caller, id) {
      const session = find(caller, id);
      return session ? ok({ session_id: id, created_at: session.created, message_count: 0 }) : missing;
    },
    async remove(caller, id) {
      return sessions.delete(key(caller, id)) ? ok(undefined) : missing;
    },
    async send(caller, id, request) {
      calls.push(["send", caller, id, request]);
      if (!find(caller, id)) return missing;
      return ok({
        cursor: 0,
        runId: "run_1",
        connect: async () => {
          const socket = new FakeSocket();
          socket.onAccept = () => {
            socket.say(`id: 1\n${DONE}`);
            socket.end(4000);
          };
          return ok(socket.asSocket());
        },
      });
    },
    async list(caller, page) {
      calls.push(["list", page]);
      const ids = [...sessions.keys()].filter((name) => name.startsWith(`${caller.tenant}/`));
      const data = ids.map((name) => ({ session_id: name.split("/")[1] ?? "", created_at: "", message_count: 0 }));
      return ok({ data, next_cursor: null });
    },
    async follow(_caller, id, after) {
      calls.push(["follow", id, after]);
      return refuse("invalid_request_error", "not in this fake");
    },
    async stats(caller, id) {
      return find(caller, id) ? refuse("internal_error", "not in this fake") : missing;
    },
    async fork(caller, id) {
      return find(caller, id) ? refuse("internal_error", "not in this fake") : missing;
    },
    async answer(caller, id, decisionId, reply) {
      calls.push(["answer", id, decisionId, reply]);
      const answered = find(caller, id)?.decisions.get(decisionId);
      if (answered === undefined) return refuse("not_found_error", "no such permission request");
      if (answered) return refuse("conflict_error", "permission request was answered already");
      find(caller, id)?.decisions.set(decisionId, true);
      return ok(undefined);
    },
    async openDecisions(caller, id) {
      return find(caller, id) ? ok([]) : missing;
    },
    async cancel(caller, id, request) {
      calls.push(["cancel", id, request]);
      return find(caller, id) ? ok({ cancelled: false }) : missing;
    },
    async compact(caller, id, request) {
      calls.push(["compact", id, request]);
      return find(caller, id) ? ok({ compacted: false, tokens_before: 0, tokens_after: 0 }) : missing;
    },
    async history(caller, id, page) {
      calls.push(["history", id, page]);
      return find(caller, id) ? ok({ data: [], next_cursor: null }) : missing;
    },
    async readFile(caller, id, path) {
      const session = find(caller, id);
      if (!session) return missing;
      if (path === "") {
        const entries = [...session.files].map(([name, bytes]) => ({ name, kind: "file", size: bytes.byteLength }));
        return ok({ kind: "directory", entries });
      }
      const bytes = session.files.get(path);
      return bytes ? ok({ kind: "file", bytes }) : refuse("not_found_error", "file not found");
    },
    async writeFile(caller, id, path, bytes) {
      const session = find(caller, id);
      session?.files.set(path, bytes);
      return session ? ok(undefined) : missing;
    },
    async removeFile(caller, id, path) {
      return find(caller, id)?.files.delete(path) ? ok(undefined) : missing;
    },
  };
}

/** An app over fakes; settings are given as the Worker's vars would be. */
export function testApp(vars: Record<string, unknown> = {}, overrides: Partial<AppDeps> = {}) {
  const clock = { now: Date.UTC(2026, 10, 1) };
  const config = Config.parse({ RATE_LIMIT_PER_MINUTE: 0, ...vars });
  const lines: { level: string; message: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const limiter = memoryLimiter(() => clock.now);
  const sessions = memorySessions();
  let ids = 0;
  const deps: AppDeps = {
    sessions,
    runner: {
      run: async () =>
        ok(
          (async function* () {
            yield DONE;
          })(),
        ),
    },
    limiter,
    tenants: createSingleTokenTenants(config.BEARER_TOKEN),
    audit: {
      query: async () => ok({ data: [], next_cursor: null }),
      verify: async () => ok({ valid: true, entries: 0 }),
    },
    models: [],
    listTools: async () => [
      { name: "Read", description: "Reads a file.", inputSchema: { type: "object", properties: {} } },
    ],
    config,
    now: () => clock.now,
    newId: (prefix) => `${prefix}_${String(++ids).padStart(12, "0")}`,
    log: (level, message, fields) => lines.push({ level, message, fields }),
    ...overrides,
  };
  return { app: createApp(deps), deps, clock, limiter, sessions, lines };
}

/** A JSON request. */
export function json(method: string, body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}
