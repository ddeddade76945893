import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { tenantSettings, tenantStatement } from "../../../scripts/lib/tenant-sql.ts";
import type { TenantSettings } from "../../../src/contract/tenants.ts";

function database() {
  const db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE TABLE tenants (id TEXT PRIMARY KEY, token_sha256 TEXT UNIQUE, created_at TEXT, revoked_at TEXT, settings TEXT)",
  );
  const run = (verb: "create" | "rotate" | "revoke", id: string, digest = "d", settings: TenantSettings = {}): number =>
    db.prepare(tenantStatement({ verb, id, digest, at: "2026-11-01T00:00:00Z", settings })).all().length;
  return { run, rows: () => db.prepare(tenantStatement({ verb: "list" })).all() };
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

test.each([
  [{ rate: "" }, "rate_per_minute"],
  [{ rate: "1.5" }, "rate_per_minute"],
  [{ rate: "-1" }, "rate_per_minute"],
  [{ mode: "wild" }, "permission_mode"],
  [{ models: "a,,b" }, "allowed_models"],
])("settings like %j are refused by the field's name", (flags, field) => {
  const settings = tenantSettings(flags);
  expect(settings.ok ? "" : settings.error).toContain(field);
});

test("settings that were not given stay the deployment's", () => {
  expect(tenantSettings({})).toEqual({ ok: true, value: {} });
  const flags = { rate: "5", provider: "demo", model: "m", mode: "plan", models: "a, b" };
  expect(tenantSettings(flags)).toEqual({
    ok: true,
    value: {
      rate_per_minute: 5,
      default_provider: "demo",
      default_model: "m",
      permission_mode: "plan",
      allowed_models: ["a", "b"],
    },
  });
});
