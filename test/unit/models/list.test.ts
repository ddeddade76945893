import { expect, test } from "vitest";
import { createModelRegistry } from "../../../src/models/index.ts";
import { listModels } from "../../../src/models/list.ts";
import { testApp } from "../http/support/fakes.ts";

const FIELDS = [
  "cache_read_price_per_1m",
  "cache_write_price_per_1m",
  "context_window",
  "display_name",
  "id",
  "input_price_per_1m",
  "max_output_tokens",
  "output_price_per_1m",
  "provider",
  "roles",
  "supports_caching",
  "supports_images",
  "supports_thinking",
];

// spec: P-1 R-5 R-6
test("lists every registered model with all its fields and its roles", () => {
  const registry = createModelRegistry();
  const list = listModels(registry);
  expect(list.map((model) => model.id)).toEqual(registry.list().map((model) => model.id));
  for (const { estimated, ...rest } of list) {
    expect(Object.keys(rest).sort()).toEqual(FIELDS);
    expect([undefined, true]).toContain(estimated);
  }
  const roles = Object.fromEntries(list.filter((m) => m.roles.length > 0).map((m) => [m.id, m.roles]));
  expect(roles).toEqual({ "claude-sonnet-4-6": ["main", "thinking"], "claude-haiku-4-5": ["fast"] });
});

// spec: P-1 R-5
test("lists a model that only a role names, marked as an estimate", () => {
  const list = listModels(createModelRegistry({ roles: { main: "new-model", embed: "vec" } }));
  expect(list.find((model) => model.id === "new-model")).toMatchObject({
    context_window: 200_000,
    estimated: true,
    roles: ["main"],
  });
  expect(list.find((model) => model.id === "vec")?.roles).toEqual(["embed"]);
});

// spec: P-1
test("answers the list with its count", async () => {
  const models = listModels(createModelRegistry());
  const { app } = testApp({}, { models });
  const response = await app.request("/v1/models");
  expect(await response.json()).toEqual({ models, count: models.length });
  expect((await app.request("/v1/models", { method: "POST" })).status).toBe(405);
});
