import type { FailureCategory } from "../../contract/failure.ts";
import type { ErrorFacts } from "../transport/error-body.ts";

/** The service's own error numbers; the binding throws them as `NNNN: text`. */
const CODES: Readonly<Record<number, FailureCategory>> = {
  3003: "invalid_request",
  3006: "request_too_large",
  3007: "timeout",
  3008: "timeout",
  3023: "permission",
  3036: "billing",
  3039: "invalid_request",
  3040: "overloaded",
  3041: "permission",
  3042: "not_found",
  5004: "invalid_request",
  5007: "not_found",
  5016: "permission",
  5018: "permission",
};

/** The number is a field of the body or, inside a stream, stands before the text. */
export function workersAiCategory(facts: ErrorFacts): FailureCategory | undefined {
  return CODES[facts.code ?? thrownFault(facts.message)?.code ?? 0];
}

/** The number and text of an error the binding threw; undefined when it is not one of the service's. */
export function thrownFault(error: unknown): { readonly code: number; readonly message: string } | undefined {
  const text = error instanceof Error ? error.message : String(error);
  const match = /(?:^|\s)(\d{4}):\s*([\s\S]*)/.exec(text);
  return match ? { code: Number(match[1]), message: match[2] || text } : undefined;
}
