import { DurableObject } from "cloudflare:workers";
import type { Instance } from "./binding.ts";
import { createMachine, type Machine } from "./machine.ts";
import { handle } from "./worker.ts";

type Env = {
  readonly MACHINE: DurableObjectNamespace<SandboxMachine>;
  /** Set with `wrangler secret put SANDBOX_TOKEN`. */
  readonly SANDBOX_TOKEN?: string;
  readonly ALLOW_INTERNET?: string;
  readonly IDLE_SECONDS?: string;
  readonly INSTANCE?: Instance;
};

/** One sandbox and its container. */
export class SandboxMachine extends DurableObject<Env> {
  readonly #machine: Machine;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    if (!ctx.container) throw new Error("this object has no container: see [[containers]] in wrangler.toml");
    this.#machine = createMachine({
      container: ctx.container,
      storage: ctx.storage,
      allowInternet: env.ALLOW_INTERNET === "true",
      instance: env.INSTANCE ?? "standard-1",
      idleMs: (Number(env.IDLE_SECONDS) || 600) * 1000,
      now: Date.now,
      delay,
    });
  }

  override fetch(request: Request): Promise<Response> {
    return this.#machine.fetch(request);
  }

  override alarm(): Promise<void> {
    return this.#machine.alarm();
  }
}

export default {
  fetch: (request, env) =>
    handle(request, {
      token: env.SANDBOX_TOKEN ?? "",
      machine: (id) => env.MACHINE.get(env.MACHINE.idFromName(id)),
      newId: () => crypto.randomUUID(),
    }),
} satisfies ExportedHandler<Env>;

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
