import { expect, test } from "vitest";
import { ModelInfo, ModelRole } from "../../src/contract/model.ts";
import { call } from "./support/client.ts";

// spec: P-1 R-5 R-6
test("the Worker lists its models with prices and roles", async () => {
  const response = await call("/v1/models");
  const { models, count } = (await response.json()) as { models: { id: string; roles: unknown[] }[]; count: number };
  expect([response.status, count]).toEqual([200, models.length]);
  for (const { roles, ...model } of models) {
    expect(() => ModelInfo.parse(model)).not.toThrow();
    expect(() => ModelRole.array().parse(roles)).not.toThrow();
  }
  expect(models.find((model) => model.id === "claude-sonnet-4-6")).toMatchObject({
    provider: "anthropic",
    input_price_per_1m: 3,
    output_price_per_1m: 15,
    roles: ["main", "thinking"],
  });
});
