import type { Usage } from "../../contract/model.ts";
import { UsageFrame } from "./wire.ts";

/** Running totals of an answer: the last value of each counter wins (provider-protocols 1.2). */
export class UsageTotals {
  #prompt: number | undefined;
  #completion: number | undefined;
  #cached = 0;
  #written = 0;
  cost: number | undefined;

  note(value: unknown): boolean {
    if (value === null || value === undefined) return false;
    const seen = UsageFrame.safeParse(value);
    if (!seen.success) return false;
    const {
      prompt_tokens,
      completion_tokens,
      prompt_tokens_details: details,
      prompt_cache_hit_tokens: hit,
      cost,
    } = seen.data;
    this.#prompt = prompt_tokens ?? this.#prompt;
    this.#completion = completion_tokens ?? this.#completion;
    this.#cached = details?.cached_tokens ?? hit ?? this.#cached;
    this.#written = details?.cache_write_tokens ?? this.#written;
    this.cost = cost ?? this.cost;
    return true;
  }

  /** Cached tokens are inside the prompt figure of this wire; they are taken out. */
  total(): Usage | null {
    if (this.#prompt === undefined && this.#completion === undefined) return null;
    return {
      input: Math.max(0, Math.floor((this.#prompt ?? 0) - this.#cached - this.#written)),
      output: Math.floor(this.#completion ?? 0),
      cache_read: Math.floor(this.#cached),
      cache_write: Math.floor(this.#written),
    };
  }
}
