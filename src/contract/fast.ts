import type { Usage } from "./model.ts";

export type FastRequest = { readonly system: string; readonly prompt: string; readonly maxTokens: number };

/** What the fast model said. `usage` null: nothing is known of what it cost. */
export type FastAnswer = { readonly usage: Usage | null; readonly costNano: number } & (
  | { readonly ok: true; readonly text: string; readonly thinking: string }
  | { readonly ok: false; readonly reason: string }
);

/** One call of the fast role. Throws only when the signal aborts. */
export type FastCall = (request: FastRequest, signal: AbortSignal) => Promise<FastAnswer>;
