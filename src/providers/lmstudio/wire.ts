import type { FailureCategory } from "../../contract/failure.ts";
import type { ErrorFacts } from "../transport/error-body.ts";

/** What the operator of a local server can do. */
export function hints(baseUrl: string): Partial<Record<FailureCategory, string>> {
  return {
    network: `Is the server running at ${baseUrl}? Start it with \`lms server start\`.`,
    not_found: "Load the model first: `lms load <model>`.",
    prompt_too_long: "The window is set on the server: give the model a larger context length.",
  };
}

/** Errors inside a stream have only a text: what the server would have answered with 400 (provider-protocols 8). */
export function lmstudioCategory(facts: ErrorFacts, status: number | undefined): FailureCategory | undefined {
  if (status !== undefined || facts.code !== undefined) return undefined;
  if (/crash|exit code|unloaded|terminated|out of memory|insufficient (?:system )?resources/i.test(facts.message))
    return "server";
  return /no models? (?:is |are )?loaded|model .*not (?:found|loaded)|no model/i.test(facts.message)
    ? "not_found"
    : "invalid_request";
}
