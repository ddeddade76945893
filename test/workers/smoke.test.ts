import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";

test("smoke", async () => {
  const r = await exports.default.fetch("http://localhost/");
  expect(r.status).toBe(503);
  await runInDurableObject(env.SESSION.getByName("a"), (_, ctx) => {
    expect(ctx.storage.sql.exec("select 1 as a").one().a).toBe(1);
  });
});
