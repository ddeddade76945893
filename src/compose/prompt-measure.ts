import { estimateTokens } from "../context/estimate.ts";
import type { ToolDefinition } from "../contract/model.ts";
import { quickDigest } from "../prompts/index.ts";

/** Texts whose figures are remembered: a deployment's fixed sections, and those of its sessions at work. */
const REMEMBERED = 256;

/** How prompts are measured; made once a deployment, because the same long texts come with every model call. */
export type PromptMeasure = {
  readonly toolsDigest: string;
  readonly toolsTokens: number;
  readonly digest: (text: string) => string;
  readonly countTokens: (text: string) => number;
};

export function createPromptMeasure(tools: readonly ToolDefinition[]): PromptMeasure {
  return measureWith({ digest: remembering(quickDigest), countTokens: remembering(estimateTokens) }, tools);
}

/** The same measure, which knows its texts already, for other tools. */
export function measureWith(
  { digest, countTokens }: Pick<PromptMeasure, "digest" | "countTokens">,
  tools: readonly ToolDefinition[],
): PromptMeasure {
  const text = JSON.stringify(tools);
  return { toolsDigest: quickDigest(text), toolsTokens: estimateTokens(text), digest, countTokens };
}

function remembering<T>(measure: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED) known.clear();
    const made = measure(text);
    known.set(text, made);
    return made;
  };
}
