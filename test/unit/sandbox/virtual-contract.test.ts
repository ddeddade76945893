import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { describeSandbox } from "./support/contract.ts";

describeSandbox("virtual (memory)", async () => createMemorySandbox({ maxBytes: 1 << 24, now: Date.now }));
