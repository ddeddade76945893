import { rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { createE2bSandbox } from "../../../src/sandbox/e2b/index.ts";
import { delay } from "./support/clock.ts";
import { describeSandbox } from "./support/contract.ts";
import { type FakeEnvd, startFakeEnvd } from "./support/fake-envd.ts";

let envd: FakeEnvd;
let made = 0;
beforeAll(async () => {
  envd = await startFakeEnvd();
});
afterAll(async () => {
  await envd.close();
  // The contract keeps a file in /tmp, which is this machine's own here.
  await rm("/tmp/kept", { force: true });
});

describeSandbox("e2b (fake envd)", async (size) => {
  // What earlier tests left would count against the size of this one.
  await rm(`${envd.home}/${made}`, { recursive: true, force: true });
  envd.limit(size?.maxBytes);
  return createE2bSandbox({
    ...{ apiUrl: envd.url, apiKey: envd.apiKey, template: "base", domain: "unused.test", sandboxUrl: envd.url },
    ...{ root: `${envd.home}/${++made}`, fetch, delay, now: Date.now, graceMs: 5_000, remember: () => undefined },
  });
});
