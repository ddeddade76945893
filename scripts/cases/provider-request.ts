import type { Block, Message } from "../../src/contract/messages.ts";
import type { ModelRequest } from "../../src/contract/model.ts";
import type { RequestChecks } from "./provider-assertions.ts";
import type { Expectation } from "./provider-events.ts";
import type { Http } from "./provider-http.ts";

export type CaseMessage = { readonly role: "user" | "assistant"; readonly content: readonly Record<string, unknown>[] };
export type CaseRequest = {
  readonly model?: string;
  readonly system?: readonly { readonly text: string; readonly cache?: boolean }[];
  readonly messages?: readonly CaseMessage[];
  readonly tools?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly input_schema: Record<string, unknown>;
  }[];
  readonly max_tokens?: number;
  readonly temperature?: number;
  readonly stop_sequences?: readonly string[];
  readonly thinking_budget?: number;
};

export type ProviderCase = {
  readonly id: string;
  readonly provider: string;
  readonly config?: {
    readonly api_key?: string;
    readonly bearer_token?: string;
    readonly base_url?: string;
    readonly stream_idle_ms?: number;
  };
  readonly request?: CaseRequest;
  readonly request_contains?: RequestChecks;
  readonly http: Http;
  readonly expect: Expectation;
  readonly replay?: { readonly messages: readonly CaseMessage[]; readonly request_contains: RequestChecks };
  readonly now?: string | number;
};

const MODELS: Readonly<Record<string, string>> = {
  anthropic: "claude-sonnet-4-6",
  openai: "gpt-5.4",
  openrouter: "anthropic/demo-sonnet",
  minimax: "MiniMax-M2.7",
  gemini: "gemini-2.5-flash",
  ollama: "llama3.3:latest",
  lmstudio: "qwen3-demo",
};

export function requestOf({ provider, request = {} }: ProviderCase): ModelRequest {
  return {
    model: request.model ?? MODELS[provider] ?? "demo-model",
    system: request.system ?? [],
    messages: messagesOf(request.messages ?? [{ role: "user", content: [{ type: "text", text: "Hello" }] }], []),
    tools: (request.tools ?? []).map((tool) => ({
      name: tool.name,
      description: tool.description ?? "",
      inputSchema: tool.input_schema,
    })),
    maxTokens: request.max_tokens ?? 1024,
    temperature: request.temperature,
    stopSequences: request.stop_sequences,
    thinkingBudget: request.thinking_budget,
  };
}

/** Case messages are the engine's own, but for `{"$tool_use": n}` in place of an id. */
export function messagesOf(messages: readonly CaseMessage[], calls: readonly string[]): readonly Message[] {
  return messages.map(({ role, content }) => ({
    role,
    content: content.map((block) => {
      const id = block.tool_use_id;
      const filled =
        typeof id === "object" && id !== null
          ? { ...block, tool_use_id: calls[(id as { $tool_use: number }).$tool_use] ?? "" }
          : block;
      // The blocks of a case have the contract's fields.
      return filled as unknown as Block;
    }),
  }));
}
