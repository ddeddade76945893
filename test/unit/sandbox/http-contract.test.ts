import { afterAll, beforeAll, describe, vi } from "vitest";
import { describeSandbox } from "./support/contract.ts";
import { NO_BUBBLEWRAP, type ServerProcess, sandboxOf, startSandboxServer } from "./support/sandbox-server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.skipIf(NO_BUBBLEWRAP)("a real shell", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startSandboxServer();
  });
  afterAll(() => server.close());

  describeSandbox("http", async (size) => sandboxOf(server.url, size));
});
