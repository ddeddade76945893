import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import type { AuditRecord } from "../../src/contract/audit.ts";
import { canonicalJson } from "../../src/shared/canonical-json.ts";
import { sha256Hex } from "../../src/shared/digest.ts";
import type { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, scriptAgents, seen, send } from "./support/client.ts";

const bash = (id: string, command: string) => ({ id, name: "Bash", input: { command } });

async function answer(session: string, id: unknown, body: Record<string, unknown>, route = "permissions") {
  return post(`/v1/sessions/${session}/${route}/${String(id)}`, body);
}

async function file(session: string, path: string): Promise<string> {
  const response = await call(`/v1/sessions/${session}/files/${path}`);
  return response.status === 404 ? "" : response.text();
}

function results(stream: SseReader): unknown[] {
  return stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => data.output);
}

function count(stream: SseReader, type: string): number {
  return stream.seen.filter((event) => event.type === type).length;
}

/** The session's audit in the order it was written. */
async function audited(session: string): Promise<AuditRecord[]> {
  // Verifying asks the session for all it has first.
  await call(`/v1/audit/verify?session_id=${session}`);
  const response = await call(`/v1/audit?session_id=${session}`);
  return ((await response.json()) as { data: AuditRecord[] }).data.reverse();
}

/** A session whose run has come to the question of a Bash call. */
async function parked(name: string, command = "echo one > a.txt") {
  await script(name, [anthropicTurn({ calls: [bash("b", command)] }), anthropicTurn({ text: "ok" })]);
  await createSession(name);
  const stream = await send(name, name, { prompt: "go" });
  return { stream, id: (await stream.until("permission_request")).data.id };
}

describe("answers", () => {
  test("an answer may rewrite the input; the tool runs with it, the model is told, the audit has its digest", async () => {
    // spec: D-1
    const name = "rewrite";
    await script(name, [anthropicTurn({ calls: [bash("b", "echo one > a.txt")] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go" });
    const asked = await stream.until("permission_request");
    const wrong = await answer(name, asked.data.id, { allow: true, updated_input: { command: 7 } });
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      { error: { type: "invalid_request_error", message: expect.stringContaining("updated_input.command") } },
    ]);
    const denied = await answer(name, asked.data.id, { allow: true, edited_plan: "x" });
    expect(denied.status).toBe(400);
    const right = await answer(name, asked.data.id, { allow: true, updated_input: { command: "echo two > a.txt" } });
    expect(right.status).toBe(200);
    await stream.toEnd();
    expect(await file(name, "a.txt")).toBe("two\n");
    expect(results(stream)[0]).toContain('it ran with {"command":"echo two > a.txt"}');
    const resource = "echo two > a.txt";
    const input_digest = await sha256Hex(canonicalJson({ command: resource }));
    const [decided, ran, ...more] = await audited(name);
    expect(decided).toMatchObject({ operation: "decide", outcome: "allowed", resource });
    expect(decided?.extra).toEqual({ decision_id: asked.data.id, input_digest });
    expect(ran).toMatchObject({ operation: "execute", outcome: "allowed", resource, extra: {} });
    expect(more).toEqual([]);
  });

  test("a rewritten input is judged like the model's own: what is denied stays denied, and the audit names it", async () => {
    // spec: D-1 S-4
    const name = "rewrite-denied";
    await script(name, [anthropicTurn({ calls: [bash("b", "echo one > a.txt")] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go" });
    const asked = await stream.until("permission_request");
    await answer(name, asked.data.id, { allow: true, updated_input: { command: "rm -rf /" } });
    await stream.toEnd();
    expect(results(stream)[0]).toContain("permission denied");
    expect(await audited(name)).toMatchObject([
      { operation: "decide", outcome: "allowed", resource: "rm -rf /" },
      { operation: "execute", outcome: "blocked", resource: "rm -rf /" },
    ]);
  });

  test("allowed for the session, the same call is not asked again; another one is", async () => {
    const name = "always";
    const again = bash("b2", "echo hi >> log.txt");
    await script(name, [
      anthropicTurn({ calls: [bash("b1", "echo hi >> log.txt")] }),
      anthropicTurn({ calls: [again] }),
      anthropicTurn({ text: "one" }),
      anthropicTurn({ calls: [{ ...again, id: "b3" }, bash("b4", "echo other >> log.txt")] }),
      anthropicTurn({ text: "two" }),
    ]);
    await createSession(name);
    const first = await send(name, name, { prompt: "go" });
    const asked = await first.until("permission_request");
    expect((await answer(name, asked.data.id, { allow: true, scope: "session" })).status).toBe(200);
    await first.toEnd();
    expect(count(first, "permission_request")).toBe(1);
    await abortAllDurableObjects();
    const second = await send(name, name, { prompt: "more" });
    const other = await second.until("permission_request");
    expect(other.data).toMatchObject({ tool_call_id: "b4" });
    await answer(name, other.data.id, { allow: false });
    await second.toEnd();
    expect(await file(name, "log.txt")).toBe("hi\nhi\nhi\n");
  });

  test("a plan is approved as the user changed it, and from then on the run may write", async () => {
    // spec: D-2 E-16
    const name = "plan";
    const write = { id: "w", name: "Write", input: { file_path: "/workspace/a.txt", content: "planned" } };
    await script(name, [
      anthropicTurn({ calls: [write] }),
      anthropicTurn({ calls: [{ id: "p", name: "ExitPlanMode", input: { plan: "write a.txt" } }] }),
      anthropicTurn({ calls: [{ ...write, id: "w2" }] }),
      anthropicTurn({ text: "done" }),
    ]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go", permission_mode: "plan" });
    const asked = await stream.until("plan_approval");
    expect(asked.data).toMatchObject({ plan: "write a.txt", tool_call_id: "p" });
    expect(results(stream)[0]).toContain("plan mode");
    const reply = { allow: true, edited_plan: "write a.txt, once" };
    expect((await answer(name, asked.data.id, reply, "decisions")).status).toBe(200);
    await stream.toEnd();
    expect(results(stream)[1]).toContain("write a.txt, once");
    expect(await file(name, "a.txt")).toBe("planned");
    const decided = (await audited(name)).find(({ operation }) => operation === "decide");
    expect(decided).toMatchObject({ tool_name: "ExitPlanMode", outcome: "allowed", resource: reply.edited_plan });
    const input_digest = await sha256Hex(canonicalJson({ plan: reply.edited_plan }));
    expect(decided?.extra).toMatchObject({ input_digest });
  });

  test("a plan that is rejected changes nothing, and the model reads why", async () => {
    const name = "plan-no";
    await script(name, [
      anthropicTurn({ calls: [{ id: "p", name: "ExitPlanMode", input: { plan: "delete all" } }] }),
      anthropicTurn({ text: "sorry" }),
    ]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go", permission_mode: "plan" });
    const asked = await stream.until("plan_approval");
    await answer(name, asked.data.id, { allow: false, reason: "too bold" }, "decisions");
    await stream.toEnd();
    expect(results(stream)).toEqual(["error: the plan was not approved: too bold"]);
  });
});

describe("the audit of a question", () => {
  // spec: S-4 D-5
  test("names what was shown where the answer is no, whatever else the answer says", async () => {
    const name = "audit-no";
    const { stream, id } = await parked(name);
    await answer(name, id, { allow: false, updated_input: { command: "echo two > a.txt" } });
    await stream.toEnd();
    const rows = await audited(name);
    const blocked = { outcome: "blocked", resource: "echo one > a.txt" };
    expect(rows).toMatchObject([
      { operation: "decide", ...blocked },
      { operation: "execute", ...blocked },
    ]);
    const input_digest = await sha256Hex(canonicalJson({ command: "echo one > a.txt" }));
    expect(rows[0]?.extra).toMatchObject({ input_digest });
  });

  test("has the digest of the input as the tool is given it", async () => {
    const name = "audit-stray";
    const { stream, id } = await parked(name);
    await answer(name, id, { allow: true, updated_input: { command: "echo two > a.txt", stray: 1 } });
    await stream.toEnd();
    expect(results(stream)[0]).toContain('it ran with {"command":"echo two > a.txt"}');
    const input_digest = await sha256Hex(canonicalJson({ command: "echo two > a.txt" }));
    expect((await audited(name))[0]?.extra).toMatchObject({ input_digest });
  });

  test("tells that nobody answered in time", async () => {
    const name = "audit-late";
    const { stream, id } = await parked(name);
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      vi.setSystemTime(Date.now() + 301_000);
      await runDurableObjectAlarm(objectOf(name));
      await stream.toEnd();
    } finally {
      vi.useRealTimers();
    }
    const rows = await audited(name);
    expect(rows).toMatchObject([
      {
        ...{ operation: "decide", outcome: "blocked", tool_name: "Bash", resource: "echo one > a.txt", turn_number: 1 },
        reason: "nobody answered the permission request in time",
      },
      { operation: "execute", outcome: "blocked" },
    ]);
    expect(rows[0]?.extra).toEqual({ decision_id: id });
  });

  test("tells that its run was cancelled, once", async () => {
    const name = "audit-cancel";
    const { stream, id } = await parked(name);
    await post(`/v1/sessions/${name}/cancel`, {});
    await stream.toEnd();
    const rows = await audited(name);
    expect(rows).toMatchObject([
      {
        ...{ operation: "decide", outcome: "blocked", resource: "echo one > a.txt" },
        reason: expect.stringContaining("the run was cancelled first"),
      },
    ]);
    expect(rows[0]?.extra).toEqual({ decision_id: id });
  });

  test("stays when the session is deleted under it", async () => {
    const name = "audit-deleted";
    await parked(name);
    await call(`/v1/sessions/${name}`, { method: "DELETE" });
    expect(await audited(name)).toMatchObject([{ operation: "decide", outcome: "blocked" }]);
  });

  test("says which sub-agent asked; what starts one does not only read", async () => {
    const name = "audit-sub";
    const agent = (id: string, prompt: string) => ({ id, name: "Agent", input: { description: prompt, prompt } });
    await scriptAgents(name, {
      "go on": [
        anthropicTurn({ calls: [agent("s", "write one"), agent("t", "write two")] }),
        anthropicTurn({ text: "ok" }),
      ],
      "write one": [anthropicTurn({ calls: [bash("b", "echo 1 > a.txt")] }), anthropicTurn({ text: "written" })],
      "write two": [anthropicTurn({ calls: [bash("b", "echo 2 > b.txt")] }), anthropicTurn({ text: "written" })],
    });
    await createSession(name);
    const stream = await send(name, name, { prompt: "go on" });
    const first = (await stream.until("permission_request")).data;
    const second = (await stream.until("permission_request")).data;
    await answer(name, first.id, { allow: true });
    await stream.until("subagent_end");
    await post(`/v1/sessions/${name}/cancel`, {});
    await stream.toEnd();
    const rows = await audited(name);
    const told = rows.map(({ tool_name, operation, outcome, extra }) => [
      ...[tool_name, operation, outcome],
      extra.subagent_id ?? "",
    ]);
    expect(told).toEqual([
      ["Agent", "invoke", "allowed", ""],
      ["Agent", "invoke", "allowed", ""],
      ["Bash", "decide", "allowed", first.subagent_id],
      ["Bash", "execute", "allowed", first.subagent_id],
      ["Bash", "decide", "blocked", second.subagent_id],
    ]);
    expect(rows[0]?.reason).toBe("starts a sub-agent, whose own calls are judged one by one");
  });
});

describe("rules", () => {
  test("a request's rules allow what would be asked and deny what would pass; a denial wins", async () => {
    const name = "rules";
    await script(name, [
      anthropicTurn({ calls: [bash("b1", "touch a.txt"), bash("b2", "touch b.txt"), bash("b3", "ls")] }),
      anthropicTurn({ text: "ok" }),
    ]);
    await createSession(name);
    const permission_rules = { allow: ["Bash(touch:*)"], deny: ["Bash(touch b.txt)", "Bash(ls)"] };
    const stream = await send(name, name, { prompt: "go", permission_rules });
    await stream.toEnd();
    expect(count(stream, "permission_request")).toBe(0);
    expect(results(stream)).toEqual([
      "(no output)",
      "error: permission denied: a permission rule refuses it",
      "error: permission denied: a permission rule refuses it",
    ]);
    const bad = await post(`/v1/sessions/${name}/messages`, { prompt: "x", permission_rules: { allow: ["Bash(("] } });
    expect([bad.status, await bad.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining("permission_rules.allow.0") } },
    ]);
  });

  test("the third denial of one call in a row comes with advice, and the stats tell", async () => {
    const name = "advice";
    const turn = (id: string) => anthropicTurn({ calls: [bash(id, "rm -rf /")] });
    await script(name, [turn("1"), turn("2"), turn("3"), anthropicTurn({ text: "I give up" })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go" });
    await stream.toEnd();
    const advised = results(stream).map((output) => String(output).includes("Do not make it again"));
    expect(advised).toEqual([false, false, true]);
    expect(await (await call(`/v1/sessions/${name}/stats`)).json()).toMatchObject({
      denials: 3,
      denied_tools: { Bash: 3 },
      denials_in_a_row: 3,
    });
  });
});

test("100 questions at once, each answered twice at the same moment: one answer counts, one tool runs", async () => {
  // spec: H-7 D-5
  const names = Array.from({ length: 100 }, (_, i) => `hundred-${i}`);
  const streams = await Promise.all(
    names.map(async (name) => {
      await script(name, [anthropicTurn({ calls: [bash("b", "echo ran >> ran.txt")] }), anthropicTurn({ text: "ok" })]);
      await createSession(name);
      const stream = await send(name, name, { prompt: "go" });
      return { name, stream, asked: await stream.until("permission_request") };
    }),
  );
  const shuffled = streams
    .flatMap((each) => [each, each])
    .map((each, i) => ({ each, key: (i * 7919) % 200 }))
    .sort((a, b) => a.key - b.key);
  const statuses = await Promise.all(
    shuffled.map(async ({ each }) => (await answer(each.name, each.asked.data.id, { allow: true })).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.filter((status) => status === 409)).toHaveLength(100);
  for (const { name, stream } of streams) {
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(await file(name, "ran.txt")).toBe("ran\n");
    expect(await seen(name)).toHaveLength(2);
  }
}, 60_000);
