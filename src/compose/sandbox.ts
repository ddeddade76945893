import type { Config } from "../contract/config.ts";
import type { Sandbox } from "../contract/sandbox.ts";
import { createMemorySandbox, createObjectSandbox, createWorkspaceTables } from "../sandbox/virtual/index.ts";

/** A session's durable workspace: `prepare` makes its tables, once, when the session is made. */
export function composeSandbox(config: Config, storage: DurableObjectStorage): { sandbox: Sandbox; prepare(): void } {
  return {
    sandbox: createObjectSandbox(storage, { maxBytes: config.WORKSPACE_MAX_BYTES, now: Date.now }),
    prepare: () => createWorkspaceTables(storage.sql),
  };
}

/** The workspace of a stateless run: gone with it. */
export function composeMemorySandbox(config: Config): Sandbox {
  return createMemorySandbox({ maxBytes: config.WORKSPACE_MAX_BYTES, now: Date.now });
}
