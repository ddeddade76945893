import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { pageOfAudit, verifyOwnAudit } from "../../durable-objects/session-audit.ts";
import { SessionOutbox } from "../../durable-objects/session-outbox.ts";
import { SessionStore } from "../../durable-objects/session-store.ts";
import { composeApp } from "../../src/app.ts";
import { createD1AuditLog } from "../../src/audit/d1-log.ts";
import type { AuditRecord } from "../../src/contract/audit.ts";
import { canonicalJson } from "../../src/shared/canonical-json.ts";
import { sha256Hex } from "../../src/shared/digest.ts";
import { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, send } from "./support/client.ts";

const COMMAND = { command: "echo hi > out.txt" };

async function json<T>(path: string): Promise<T> {
  return (await call(path)).json();
}

type List = { data: AuditRecord[]; next_cursor: string | null };

/** A session with four audited steps: a write, a question answered with yes and its command, a read. */
async function audited(id: string): Promise<void> {
  await script(id, [
    anthropicTurn({ calls: [{ id: "w", name: "Write", input: { file_path: "a.txt", content: "alpha\n" } }] }),
    anthropicTurn({ calls: [{ id: "b", name: "Bash", input: { command: "echo hi > out.txt" } }] }),
    anthropicTurn({ calls: [{ id: "r", name: "Read", input: { file_path: "a.txt" } }] }),
    anthropicTurn({ text: "done" }),
  ]);
  await createSession(id);
  const stream = await send(id, id, { prompt: "go", actor_id: "anna" });
  const asked = await stream.until("permission_request");
  await post(`/v1/sessions/${id}/permissions/${String(asked.data.id)}`, { allow: true, reason: "looks fine" });
  await stream.toEnd();
}

function verify(id: string): Promise<unknown> {
  return json(`/v1/audit/verify?session_id=${id}`);
}

describe("the audit chain of a session", () => {
  beforeAll(() => audited("chain"));

  test("is whole after a run, and carries the answer with the digest of the input that ran", async () => {
    // spec: S-4
    expect(await verify("chain")).toEqual({ valid: true, entries: 4 });
    const { data } = await json<List>("/v1/audit?session_id=chain");
    expect(data.map((entry) => entry.seq)).toEqual([4, 3, 2, 1]);
    expect(data.map((entry) => entry.tool_name)).toEqual(["Read", "Bash", "Bash", "Write"]);
    for (const [i, entry] of data.entries()) expect(entry.prev).toBe(data[i + 1]?.digest ?? "");
    expect(data[0]?.digest).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
    expect(data.map((entry) => entry.operation)).toEqual(["read", "execute", "decide", "write"]);
    const agreed = { resource: COMMAND.command, outcome: "allowed", reason: "looks fine", actor_id: "anna" };
    expect(data[2]).toMatchObject(agreed);
    expect(data[2]?.extra).toEqual({
      decision_id: expect.stringMatching(/^perm_/),
      input_digest: await sha256Hex(canonicalJson(COMMAND)),
    });
  });

  test("goes on over a second run and a new life of the object", async () => {
    await audited("again");
    await evictDurableObject(objectOf("again"));
    await script("again", [
      anthropicTurn({ calls: [{ id: "r2", name: "Read", input: { file_path: "a.txt" } }] }),
      anthropicTurn({ text: "done" }),
    ]);
    await (await send("again", "again", { prompt: "once more" })).toEnd();
    expect(await verify("again")).toEqual({ valid: true, entries: 5 });
  });

  test("outlives its session, and a session made anew under the id begins its own", async () => {
    await audited("reborn");
    expect((await call("/v1/sessions/reborn", { method: "DELETE" })).status).toBe(200);
    expect(await verify("reborn")).toEqual({ valid: true, entries: 4 });
    await audited("reborn");
    expect(await verify("reborn")).toEqual({ valid: true, entries: 8 });
    const { data } = await json<List>("/v1/audit?session_id=reborn");
    expect(new Set(data.map((entry) => entry.incarnation)).size).toBe(2);
  });

  test.each([
    ["a changed reason", "UPDATE audit SET reason = 'nothing to see' WHERE session_id = ? AND seq = 2", 2, /digest/],
    ["a changed outcome", "UPDATE audit SET outcome = 'blocked' WHERE session_id = ? AND seq = 3", 3, /digest/],
    ["a removed entry", "DELETE FROM audit WHERE session_id = ? AND seq = 2", 2, /missing/],
    ["a cut-off end", "DELETE FROM audit WHERE session_id = ? AND seq > 2", 3, /missing/],
    ["an entry put elsewhere", "UPDATE audit SET seq = 9 WHERE session_id = ? AND seq = 4", 4, /missing/],
    ["a removed chain", "DELETE FROM audit WHERE session_id = ?", 1, /missing/],
    [
      "a foreign entry",
      `INSERT INTO audit SELECT 'x' || id, tenant, session_id, turn_number, timestamp, tool_name, operation, resource,
         actor_id, outcome, reason, extra, NULL, NULL, NULL, NULL FROM audit WHERE session_id = ? AND seq = 1`,
      5,
      /no chain/,
    ],
    [
      "a doubled entry",
      `INSERT INTO audit SELECT 'x' || id, tenant, session_id, turn_number, timestamp, tool_name, operation, resource,
         actor_id, outcome, reason, extra, incarnation, seq, prev, digest FROM audit WHERE session_id = ? AND seq = 2`,
      2,
      /twice|digest/,
    ],
    [
      "a new life",
      `INSERT INTO audit SELECT 'x' || id, tenant, session_id, turn_number, timestamp, tool_name, operation, resource,
         actor_id, outcome, reason, extra, '~', seq, prev, digest FROM audit WHERE session_id = ? AND seq = 1`,
      1,
      /digest/,
    ],
    ["a lost place", "UPDATE audit SET digest = NULL WHERE session_id = ? AND seq = 1", 1, /digest|way/],
  ])("names the position of %s", async (what, damage, position, reason) => {
    const id = what.replaceAll(" ", "-");
    await audited(id);
    expect(await verify(id)).toEqual({ valid: true, entries: 4 });
    await env.DB.prepare(damage).bind(id).run();
    expect(await verify(id)).toEqual({ valid: false, broken_at: position, reason: expect.stringMatching(reason) });
  });

  test("misses entries cut off a deleted session's chain, even when the head was set back to fit", async () => {
    await audited("cut-head");
    await call("/v1/sessions/cut-head", { method: "DELETE" });
    const third = await env.DB.prepare("SELECT digest FROM audit WHERE session_id = 'cut-head' AND seq = 3").first();
    await env.DB.prepare("DELETE FROM audit WHERE session_id = 'cut-head' AND seq = 4").run();
    expect(await verify("cut-head")).toMatchObject({ valid: false, broken_at: 4 });
    await env.DB.prepare("UPDATE audit_heads SET seq = 3, digest = ? WHERE session_id = 'cut-head'")
      .bind(third?.digest)
      .run();
    expect(await verify("cut-head")).toEqual({
      valid: false,
      broken_at: 3,
      reason: "the head of the chain was changed",
    });
    await env.DB.prepare("DELETE FROM audit_heads WHERE session_id = 'cut-head'").run();
    expect(await verify("cut-head")).toMatchObject({ valid: false, broken_at: 3 });
  });

  test("is unknown for a session that never was", async () => {
    expect((await call("/v1/audit/verify?session_id=never")).status).toBe(404);
  });
});

describe("the audit's list", () => {
  beforeAll(async () => {
    await audited("list");
    // Asks the session to deliver what it owes now instead of within a second.
    await verify("list");
  });

  test("narrows by tool, operation, outcome and time", async () => {
    // spec: S-4
    const { data } = await json<List>("/v1/audit?session_id=list&tool=Bash&outcome=allowed");
    expect(data.map((entry) => entry.seq)).toEqual([3, 2]);
    expect((await json<List>("/v1/audit?session_id=list&outcome=blocked")).data).toEqual([]);
    const seqsOf = async (operation: string) =>
      (await json<List>(`/v1/audit?session_id=list&operation=${operation}`)).data.map((entry) => entry.seq);
    expect([await seqsOf("decide"), await seqsOf("execute"), await seqsOf("edit")]).toEqual([[2], [3], []]);
    const at = data[1]?.timestamp ?? "";
    const before = await json<List>(`/v1/audit?session_id=list&to=${at}`);
    const after = await json<List>(`/v1/audit?session_id=list&from=${at}`);
    expect(before.data.length + after.data.length).toBe(4);
    expect(after.data.map((entry) => entry.seq)).toContain(2);
    const inOtherZone = `${new Date(Date.parse(at) + 3_600_000).toISOString().slice(0, -1)}%2B01:00`;
    expect(await json<List>(`/v1/audit?session_id=list&from=${inOtherZone}`)).toEqual(after);
  });

  test("is read by an index whatever is asked", async () => {
    const plans: string[] = [];
    const spy = vi.spyOn(env.DB, "prepare").mockImplementation((sql) => {
      plans.push(sql);
      return Object.getPrototypeOf(env.DB).prepare.call(env.DB, sql);
    });
    const log = createD1AuditLog({ database: env.DB, secret: undefined, liveHead: async () => undefined });
    const page = await log.query("default", { session_id: "list", limit: 1, cursor: undefined });
    const cursor = page.ok ? (page.value.next_cursor ?? undefined) : undefined;
    await log.query("default", { limit: 1, cursor });
    spy.mockRestore();
    const indexes = await Promise.all(
      plans.map(async (sql) => {
        const values = Array.from({ length: sql.split("?").length - 1 }, () => "x");
        const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .bind(...values)
          .all();
        return JSON.stringify(results).match(/INDEX (\w+) \([^)]*\)/)?.[0];
      }),
    );
    expect(indexes).toEqual([
      "INDEX audit_by_session (tenant=? AND session_id=?)",
      expect.stringMatching(/^INDEX audit_by_time \(tenant=\? AND \(?timestamp[,)<]/),
    ]);
  });

  test("is walked by an opaque cursor, each entry once", async () => {
    const seqs: (number | null)[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: List = await json(`/v1/audit?session_id=list&limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
      seqs.push(...page.data.map((entry) => entry.seq));
      cursor = page.next_cursor;
    }
    expect(seqs).toEqual([4, 3, 2, 1]);
  });

  test.each([
    ["session_id=..", "session_id"],
    ["tool=", "tool"],
    ["operation=think", "operation"],
    ["outcome=maybe", "outcome"],
    ["from=yesterday", "from"],
    ["to=2026-13-01", "to"],
    ["limit=0", "limit"],
    ["cursor=%20", "cursor"],
    ["cursor=Zm9v", "cursor"],
  ])("refuses ?%s and names the field", async (query, field) => {
    const response = await call(`/v1/audit?${query}`);
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    expect([response.status, error.type]).toEqual([400, "invalid_request_error"]);
    expect(error.message.startsWith(field)).toBe(true);
  });
});

describe("a session made by an earlier version", () => {
  test("keeps the entries it still owes", async () => {
    await createSession("older");
    await runInDurableObject(objectOf("older"), (_, { storage }) => {
      storage.sql.exec("DROP TABLE outbox");
      storage.sql.exec("CREATE TABLE outbox (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID");
      const entry = {
        ...{ id: "aud_1", session_id: "older", turn_number: 1, timestamp: "2026-11-01T00:00:00.000Z" },
        ...{ tool_name: "Read", operation: "read", resource: "a", actor_id: "", outcome: "allowed", reason: "" },
        extra: {},
      };
      storage.sql.exec("INSERT INTO outbox VALUES (?, ?)", entry.id, JSON.stringify(entry));
      expect(new SessionStore(storage).unlinkedAudit(10)).toEqual([entry]);
    });
    expect(await verify("older")).toEqual({ valid: true, entries: 1 });
  });
});

describe("without a database", () => {
  test("a session keeps its audit itself, in a chain that can be checked", async () => {
    await createSession("own");
    await runInDurableObject(objectOf("own"), async (_, state) => {
      const store = new SessionStore(state.storage);
      const meta = store.meta();
      if (!meta) throw new Error("no session");
      const directory = {
        put: async () => {},
        remove: async () => {},
        list: async () => ({ data: [], next_cursor: null }),
      };
      const idle = { messageCount: () => 0, hold: () => {}, tried: () => {} };
      const ports = { store, directory, audit: undefined, secret: undefined, ...idle };
      const outbox = new SessionOutbox(ports);
      const entry = {
        ...{ session_id: "own", turn_number: 1, timestamp: "2026-11-01T00:00:00.000Z", operation: "read" as const },
        ...{ resource: "half \ud800 and \0", actor_id: "", outcome: "allowed" as const, reason: "", extra: {} },
      };
      store.addAudit(["z", "a", "m"].map((id) => ({ ...entry, id, tool_name: id })));
      expect(outbox.waiting).toBe(true);
      const query = { limit: 2, cursor: undefined };
      const page = await pageOfAudit(store, outbox, meta, query);
      expect(outbox.waiting).toBe(false);
      if (!page.ok) throw new Error(page.error.message);
      expect(page.value.data.map(({ id, seq }) => [id, seq])).toEqual([
        ["m", 3],
        ["a", 2],
      ]);
      expect(page.value.data[0]?.digest).toMatch(/^sha256:/);
      for (const [operation, count] of [
        ["read", 2],
        ["decide", 0],
      ] as const) {
        const narrowed = await pageOfAudit(store, outbox, meta, { ...query, operation });
        expect(narrowed.ok && narrowed.value.data.length).toBe(count);
      }
      const rest = await pageOfAudit(store, outbox, meta, { ...query, cursor: page.value.next_cursor ?? "" });
      expect(rest).toMatchObject({ ok: true, value: { data: [{ id: "z", seq: 1 }], next_cursor: null } });
      expect(await verifyOwnAudit(store, outbox, meta, undefined)).toEqual({ valid: true, entries: 3 });
      state.storage.sql.exec("UPDATE outbox SET body = replace(body, '\"a\"', '\"b\"') WHERE id = 'a'");
      expect(await verifyOwnAudit(store, outbox, meta, undefined)).toMatchObject({ valid: false, broken_at: 2 });
      state.storage.sql.exec("DELETE FROM outbox");
    });
  });

  test("asks for a session, and knows none that is missing", async () => {
    const { DB: _none, ...rest } = env as unknown as Record<string, unknown>;
    const app = composeApp(rest as unknown as Parameters<typeof composeApp>[0]);
    const ask = (path: string) => app.fetch(new Request(`http://localhost${path}`), rest);
    const refused = await ask("/v1/audit");
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("session_id is required");
    expect((await ask("/v1/audit?session_id=nobody")).status).toBe(404);
    expect((await ask("/v1/audit/verify?session_id=nobody")).status).toBe(404);
  });

  test("entries of a stateless run are listed without a place", async () => {
    await script("alone", [
      anthropicTurn({ calls: [{ id: "g", name: "Glob", input: { pattern: "*" } }] }),
      anthropicTurn({ text: "ok" }),
    ]);
    const body = { provider: "anthropic", prompt: "go", actor_id: "alone" };
    await new SseReader(await post("/v1/agent/run", body, { "x-flyto-provider-key": "key-alone" })).toEnd();
    await vi.waitFor(async () => {
      const { data } = await json<List>("/v1/audit?tool=Glob");
      expect(data).toMatchObject([{ actor_id: "alone", seq: null, digest: null, incarnation: null }]);
    });
  });
});
