import type { FailureCategory } from "../../contract/failure.ts";
import type { ErrorFacts } from "../transport/error-body.ts";

/** MiniMax's own codes (provider-protocols 5), in `base_resp` or in brackets in an error's text. */
const CODES: Readonly<Record<number, FailureCategory>> = {
  1000: "server",
  1001: "timeout",
  1002: "rate_limit",
  1004: "auth",
  1008: "billing",
  1024: "server",
  1026: "content_filter",
  1027: "content_filter",
  1039: "rate_limit",
  2013: "invalid_request",
  2049: "auth",
  2056: "billing",
};

export function minimaxCategory(facts: ErrorFacts): FailureCategory | undefined {
  const named = [...facts.message.matchAll(/\((\d{4})\)/g)].map(([, code]) => CODES[Number(code)]);
  return named.findLast((category) => category !== undefined) ?? CODES[facts.code ?? 0];
}

/** M3 caches by itself and wants `adaptive` thinking; M2 to M2.7 take marks and a budget. */
export function isM3(model: string): boolean {
  return /M([3-9]|\d{2})/i.test(model.replace(/^MiniMax-?/i, ""));
}
