import type { FailureCategory } from "../../contract/failure.ts";

/** What the operator of a local server can do. */
export function hints(baseUrl: string): Partial<Record<FailureCategory, string>> {
  return {
    network: `Is the server running at ${baseUrl}? Start it with \`ollama serve\`.`,
    not_found: "Load the model first: `ollama pull <model>`.",
    prompt_too_long: "The window is set on the server: give the model a larger context length.",
  };
}
