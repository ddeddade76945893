import { delay } from "../shared/delay.ts";
import type { AppContext, AppDeps } from "./deps.ts";
import { errorFrame } from "./frames.ts";
import { tokenCheck } from "./identity.ts";

/** How the token of an open stream is looked at again. */
export type TokenWatch = {
  /** Whether it still lets its tenant in; may throw when that cannot be found out. */
  readonly isValid: () => Promise<boolean>;
  readonly everyMs: number;
};

/** For a request that opens a stream; undefined where there is no token that could be revoked (G-5). */
export function tokenWatch(c: AppContext, deps: Pick<AppDeps, "tenants" | "config">): TokenWatch | undefined {
  const isValid = tokenCheck(c, deps.tenants);
  return isValid && { isValid, everyMs: deps.config.TOKEN_CHECK_SECONDS * 1000 };
}

/**
 * Waits until the token stops working; gives the frame its stream is to end with (E-12), or undefined when `stop` came
 * first. A look-up that fails is made once more, soon: then nobody knows whether the token still counts.
 */
export async function tokenLost(watch: TokenWatch | undefined, stop: AbortSignal): Promise<string | undefined> {
  if (!watch) return undefined;
  let failed = false;
  for (;;) {
    await delay(failed ? watch.everyMs / 4 : watch.everyMs, stop);
    if (stop.aborted) return undefined;
    const valid = await watch.isValid().catch(() => undefined);
    if (stop.aborted) return undefined;
    if (valid === false) return errorFrame("invalid bearer token", "permission", false);
    if (valid === undefined && failed) return errorFrame("the bearer token could not be checked", "interrupted", true);
    failed = valid === undefined;
  }
}
