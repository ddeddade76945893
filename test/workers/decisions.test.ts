import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { SseReader } from "../support/sse-client.ts";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, post, script, seen, send } from "./support/client.ts";

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
    // Verifying asks the session for all it has first.
    await call(`/v1/audit/verify?session_id=${name}`);
    const audit = await call(`/v1/audit?session_id=${name}`);
    const { data } = (await audit.json()) as { data: { resource: string; extra: Record<string, string> }[] };
    expect(data.some(({ resource }) => resource === "echo two > a.txt")).toBe(true);
  });

  test("a rewritten input is judged like the model's own: what is denied stays denied", async () => {
    const name = "rewrite-denied";
    await script(name, [anthropicTurn({ calls: [bash("b", "echo one > a.txt")] }), anthropicTurn({ text: "ok" })]);
    await createSession(name);
    const stream = await send(name, name, { prompt: "go" });
    const asked = await stream.until("permission_request");
    await answer(name, asked.data.id, { allow: true, updated_input: { command: "rm -rf /" } });
    await stream.toEnd();
    expect(results(stream)[0]).toContain("permission denied");
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
