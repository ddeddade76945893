import { describe, vi } from "vitest";
import { describeSandbox } from "./support/contract.ts";
import { openProtocolSandbox } from "./support/protocol-sandbox.ts";

/**
 * The contract against a real deployment that speaks the sandbox protocol (our server, the container Worker):
 * `SANDBOX_CONTRACT_URL=https://… SANDBOX_CONTRACT_TOKEN=… npx vitest run --project unit test/unit/sandbox/deployed.test.ts`.
 * Makes a sandbox for each test and leaves it to the deployment's own idle stop.
 */
const url = process.env.SANDBOX_CONTRACT_URL ?? "";
const token = process.env.SANDBOX_CONTRACT_TOKEN ?? "";

describe.skipIf(url === "" || token === "")("a deployed sandbox", () => {
  // A machine's first start takes seconds, and every call crosses the network.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  describeSandbox(url, (size) => openProtocolSandbox(fetch, url.replace(/\/+$/, ""), token, size?.maxBytes));
});
