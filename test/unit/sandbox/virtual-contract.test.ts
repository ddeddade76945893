import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { describeSandbox } from "./support/contract.ts";

describeSandbox(
  "virtual (memory)",
  async (size) => createMemorySandbox({ maxBytes: size?.maxBytes ?? 1 << 25, now: Date.now }),
  { joinsStreamsAtTheEnd: true },
);
