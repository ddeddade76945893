import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { anthropicTurn } from "../support/wires.ts";
import { call, createSession, objectOf, post, script, seen, send } from "./support/client.ts";

const VALUE = ["tenant", "value", "0123456789"].join("-");

/** Every row of the session's object but its workspace files, where a command may keep what it needs. */
async function everyRow(session: string): Promise<string> {
  return runInDurableObject(objectOf(session), (_, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
      )
      .toArray()
      .filter(({ name }) => !name.startsWith("workspace_"));
    return JSON.stringify(tables.map(({ name }) => storage.sql.exec(`SELECT * FROM ${name}`).toArray()));
  });
}

describe("a registered secret", () => {
  test("is in the shell's environment and nowhere else, whatever prints it", async () => {
    // spec: S-5 R-2 — user report S16
    const logs = vi.spyOn(console, "log");
    const errors = vi.spyOn(console, "error");
    const command = 'echo "plain $DB_PASSWORD"; printf %s "$DB_PASSWORD" | base64; echo $DB_PASSWORD >&2; exit 3';
    const leaky = anthropicTurn({ thinking: `it is ${VALUE}`, text: `the password is ${VALUE}, I think` });
    await script("secret", [anthropicTurn({ calls: [{ id: "b", name: "Bash", input: { command } }] }), leaky]);
    await createSession("secret");
    const stream = await send("secret", "secret", {
      prompt: `use ${VALUE} please`,
      secrets: { DB_PASSWORD: VALUE },
      metadata: { note: VALUE },
    });
    const asked = await stream.until("permission_request");
    await post(`/v1/sessions/secret/permissions/${String(asked.data.id)}`, { allow: true, reason: `because ${VALUE}` });
    await stream.toEnd();
    expect(stream.seen.at(-1)?.type).toBe("done");
    const result = String(stream.seen.find((event) => event.type === "tool_result")?.data.output);
    expect(result).toContain("plain [SECRET:DB_PASSWORD]");
    const shown = stream.seen
      .filter((event) => event.type === "text_delta")
      .map((event) => event.data.text)
      .join("");
    expect(shown).toBe("the password is [SECRET:DB_PASSWORD], I think");
    await vi.waitFor(async () => {
      const { results } = await env.DB.prepare("SELECT * FROM audit WHERE session_id = 'secret'").all();
      expect(results.length).toBeGreaterThan(0);
      expect(JSON.stringify(results)).not.toContain(VALUE);
    }, 5000);
    const places = {
      stream: JSON.stringify(stream.seen),
      rows: await everyRow("secret"),
      model: JSON.stringify((await seen("secret")).map((request) => request.body)),
      history: await (await call("/v1/sessions/secret/messages")).text(),
      output: JSON.stringify([logs.mock.calls, errors.mock.calls]),
    };
    for (const [place, text] of Object.entries(places)) {
      expect(text.includes(VALUE), place).toBe(false);
      expect(text.includes(btoa(VALUE)), `${place}, base64`).toBe(false);
    }
  });

  test("must have eight bytes, and needs a place to be sealed", async () => {
    // spec: S-5
    await createSession("short");
    const refused = await post("/v1/sessions/short/messages", {
      prompt: "x",
      provider: "demo",
      secrets: { SHORT: "abc" },
    });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { message: 'secret "SHORT" value too short (min 8 bytes): got 3' },
    });
    expect((await post("/v1/sessions/short/messages", { prompt: "x", secrets: { PATH: "/usr/bin/x" } })).status).toBe(
      400,
    );
  });
});

describe("a secret nobody registered", () => {
  test("is not written to a file, audited by count only, and hidden when a command prints it", async () => {
    // spec: S-3
    const token = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0", "k1L2m3N4o5P6q7R8"].join("");
    await script("guard", [
      anthropicTurn({
        calls: [{ id: "w", name: "Write", input: { file_path: "k.txt", content: `token = "${token}"` } }],
      }),
      anthropicTurn({ calls: [{ id: "r", name: "Bash", input: { command: "cat found.txt" } }] }),
      anthropicTurn({ text: "ok" }),
    ]);
    await createSession("guard");
    await call("/v1/sessions/guard/files/found.txt", { method: "PUT", body: `token = "${token}"` });
    const stream = await send("guard", "guard", { prompt: "go" });
    await stream.toEnd();
    const [written, printed] = stream.seen.filter((event) => event.type === "tool_result").map((event) => event.data);
    expect(written).toMatchObject({ is_error: true });
    expect((await call("/v1/sessions/guard/files/k.txt")).status).toBe(404);
    expect(String(printed?.output)).not.toContain(token);
    await vi.waitFor(async () => {
      const row = await env.DB.prepare(
        "SELECT * FROM audit WHERE session_id = 'guard' AND outcome = 'blocked'",
      ).first();
      expect(row?.reason).toContain("secret_detected:count=1");
      expect(JSON.stringify(row)).not.toContain(token);
    }, 5000);
  });
});
