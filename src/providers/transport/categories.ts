import type { FailureCategory } from "../../contract/failure.ts";

/** Categories whose fault may pass by itself. */
const PASSING: ReadonlySet<FailureCategory> = new Set([
  "rate_limit",
  "overloaded",
  "server",
  "timeout",
  "network",
  "stream_incomplete",
  "malformed_response",
]);

export function mayPass(category: FailureCategory): boolean {
  return PASSING.has(category);
}

/** HTTP status, on the wire or as a number in the body (provider-protocols 1.3). */
export function byStatus(status: number): FailureCategory {
  switch (status) {
    case 401:
      return "auth";
    case 402:
      return "billing";
    case 403:
      return "permission";
    case 404:
    case 410:
      return "not_found";
    case 407:
      return "proxy";
    case 408:
    case 504:
    case 524:
      return "timeout";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit";
    case 503:
    case 529:
      return "overloaded";
    case 525:
    case 526:
      return "ssl";
    default:
      return status >= 500 ? "server" : status >= 400 ? "invalid_request" : "proxy";
  }
}

/** Words that name a category whatever the status. */
const WORDS: Readonly<Record<string, FailureCategory>> = {
  authentication_error: "auth",
  invalid_api_key: "auth",
  api_key_invalid: "auth",
  unauthenticated: "auth",
  invalid_authentication: "auth",
  account_deactivated: "auth",
  billing_error: "billing",
  billing_disabled: "billing",
  insufficient_quota: "billing",
  insufficient_credits: "billing",
  insufficient_balance: "billing",
  insufficient_balance_error: "billing",
  billing_hard_limit_reached: "billing",
  billing_not_active: "billing",
  permission_error: "permission",
  permission_denied: "permission",
  not_found_error: "not_found",
  model_not_found: "not_found",
  not_found: "not_found",
  request_too_large: "request_too_large",
  rate_limit_error: "rate_limit",
  rate_limit_exceeded: "rate_limit",
  resource_exhausted: "rate_limit",
  overloaded_error: "overloaded",
  unavailable: "overloaded",
  service_unavailable: "overloaded",
  engine_overloaded: "overloaded",
  provider_overloaded: "overloaded",
  insufficient_system_resource: "overloaded",
  timeout_error: "timeout",
  deadline_exceeded: "timeout",
  context_length_exceeded: "prompt_too_long",
  exceed_context_size_error: "prompt_too_long",
  content_filter: "content_filter",
  content_policy_violation: "content_filter",
  responsibleaipolicyviolation: "content_filter",
};

/** Words so general that a telling status goes before them. */
const GENERAL: Readonly<Record<string, FailureCategory>> = {
  invalid_request_error: "invalid_request",
  invalid_argument: "invalid_request",
  failed_precondition: "invalid_request",
  badrequesterror: "invalid_request",
  invalid_prompt: "invalid_request",
  api_error: "server",
  server_error: "server",
  internal_server_error: "server",
  internal_error: "server",
  internal: "server",
  unknown: "server",
  provider_unavailable: "server",
};

export function byWord(words: readonly string[]): FailureCategory | undefined {
  for (const word of words) {
    const category = WORDS[word.toLowerCase()];
    if (category) return category;
  }
  return undefined;
}

export function byGeneralWord(words: readonly string[]): FailureCategory | undefined {
  for (const word of words) {
    const category = GENERAL[word.toLowerCase()];
    if (category) return category;
  }
  return undefined;
}
