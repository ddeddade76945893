import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { joinValues, tenantSettings, tenantStatement, whyTaken } from "../../../scripts/lib/tenant-sql.ts";
import type { TenantSettings } from "../../../src/contract/tenants.ts";

function database() {
  const db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE TABLE tenants (id TEXT PRIMARY KEY, token_sha256 TEXT UNIQUE, created_at TEXT, revoked_at TEXT, settings TEXT)",
  );
  const run = (verb: "create" | "rotate" | "revoke", id: string, digest = "d", settings: TenantSettings = {}): number =>
    db.prepare(tenantStatement({ verb, id, digest, at: "2026-11-01T00:00:00Z", settings })).all().length;
  const find = (id: string) => db.prepare(tenantStatement({ verb: "find", id })).get();
  return { run, find, rows: () => db.prepare(tenantStatement({ verb: "list" })).all() };
}

// spec: G-5
test("a statement gives a row exactly when it changed something", () => {
  const { run, rows } = database();
  expect(run("rotate", "acme")).toBe(0);
  expect(run("create", "acme", "one", { default_model: "it's'); DROP TABLE tenants; --" })).toBe(1);
  expect(run("create", "acme", "two")).toBe(0);
  expect(run("rotate", "acme", "three")).toBe(1);
  expect(run("revoke", "acme")).toBe(1);
  expect(run("revoke", "acme")).toBe(0);
  expect(run("rotate", "acme", "four")).toBe(0);
  const settings = JSON.stringify({ default_model: "it's'); DROP TABLE tenants; --" });
  expect(rows()).toMatchObject([{ id: "acme", revoked_at: "2026-11-01T00:00:00Z", settings }]);
});

const PROVIDERS = ["anthropic", "demo"];

// spec: G-5
test.each([
  [{ rate: "" }, "--rate: "],
  [{ rate: " " }, "--rate: "],
  [{ rate: "1.5" }, "--rate: must be an integer"],
  [{ rate: "-3" }, "--rate: must be at least 0"],
  [{ mode: "wild" }, "--mode: must be one of default, ask_edits, plan, bypass"],
  [{ models: "a,,b", model: "a" }, "--models.1: must not be empty"],
  [{ models: "a,b" }, "--models: needs --model"],
  [{ models: "a,b", model: "c" }, "--models: needs --model"],
  [{ provider: "nosuch" }, "--provider: must be one of anthropic, demo"],
  [{ sandbox: "docker" }, "--sandbox: must be one of virtual, http"],
  [{ rules: "{" }, "--rules: must be JSON"],
  [{ rules: '{"dney":[]}' }, "--rules: there is no field dney"],
])("settings like %j are refused by the flag's name", (flags, text) => {
  const settings = tenantSettings(flags, PROVIDERS);
  expect(settings.ok ? "" : settings.error).toContain(text);
});

test("settings that were not given stay the deployment's", () => {
  expect(tenantSettings({}, PROVIDERS)).toEqual({ ok: true, value: {} });
  const flags = { rate: "5", provider: "demo", model: "b", mode: "plan", models: "a, b" };
  expect(tenantSettings(flags, PROVIDERS)).toEqual({
    ok: true,
    value: {
      rate_per_minute: 5,
      default_provider: "demo",
      default_model: "b",
      permission_mode: "plan",
      allowed_models: ["a", "b"],
    },
  });
});

test("a negative number is a flag's value; everything else stays as it came", () => {
  expect(joinValues(["create", "a", "--rate", "-3", "--remote"])).toEqual(["create", "a", "--rate=-3", "--remote"]);
  expect(joinValues(["create", "-3", "--rate=1", "-3", "--model", "m"])).toEqual([
    "create",
    "-3",
    "--rate=1",
    "-3",
    "--model",
    "m",
  ]);
});

test("an id that is taken is told from one that was revoked", () => {
  // spec: G-5
  const { run, find } = database();
  run("create", "acme");
  expect(whyTaken("acme", find("acme")?.revoked_at)).toBe("tenant acme exists already");
  run("revoke", "acme");
  expect(run("create", "acme", "two")).toBe(0);
  expect(whyTaken("acme", find("acme")?.revoked_at)).toMatch(
    /was revoked at 2026-11-01T00:00:00Z; an id is not used twice/,
  );
});
