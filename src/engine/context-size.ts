import type { Block, Message } from "../contract/messages.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { Agent, PromptedAgent } from "./agent.ts";
import type { EngineDeps } from "./deps.ts";

/** Tokens an image is taken for; providers count 1,000 to 1,600 for a large one. */
const IMAGE_TOKENS = 1_500;
/** Role, separators and ids around a message. */
const MESSAGE_TOKENS = 4;

/**
 * Input tokens of the agent's next model call (C-1). What the provider counted for its last call is taken as it is; only
 * what came since is estimated.
 */
export function contextTokens(agent: PromptedAgent): number {
  const { fold, deps } = agent;
  const { measured, messages, context } = fold;
  if (measured) return measured.tokens + tokensOf(messages.slice(measured.messages), deps);
  return agent.prompt.tokens + tokensOf(context, deps);
}

export function tokensOf(messages: readonly Message[], deps: EngineDeps): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, deps), 0);
}

export function messageTokens(message: Message, deps: EngineDeps): number {
  return message.content.reduce((sum, block) => sum + blockTokens(block, deps), MESSAGE_TOKENS);
}

function blockTokens(block: Block, deps: EngineDeps): number {
  switch (block.type) {
    case "text":
    case "thinking":
      return deps.estimateTokens(block.text);
    case "image":
      return IMAGE_TOKENS;
    case "tool_use":
      return deps.estimateTokens(block.name) + deps.estimateTokens(JSON.stringify(block.input));
    case "tool_result":
      if (typeof block.content === "string") return deps.estimateTokens(block.content);
      return block.content.reduce((sum, part) => sum + blockTokens(part, deps), 0);
    default:
      return block satisfies never;
  }
}

/** Tokens the answer may have. */
export function answerTokens({ run, deps }: Pick<Agent, "run" | "deps">, info: ModelInfo): number {
  return run.config.max_tokens ?? Math.min(info.max_output_tokens, deps.limits.maxOutputTokens);
}

/** Where a context is to be made smaller: at a share of the window, and early enough for the answer to fit. */
export function contextLimit(agent: PromptedAgent): { readonly soft: number; readonly hard: number } {
  const { run, deps } = agent;
  const info = deps.models.info(run.config.model, run.config.provider);
  const window = info.context_window;
  const room = Math.max(window - answerTokens(agent, info), Math.floor(window / 2));
  // Where the prompt alone is that long, shrinking the rest every turn would not help: half of what it leaves must be free.
  const least = agent.prompt.tokens + Math.floor((window - agent.prompt.tokens) / 2);
  const soft = Math.max(Math.min(Math.floor(window * deps.limits.compactAt), room), least);
  return { soft, hard: window };
}
