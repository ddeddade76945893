const DEFAULT_FAMILY = "claude";

/** What a model's own name begins with. */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "claude"],
  [/^(gpt[-\d]|chatgpt|o[1-9](?![a-z\d])|codex)/, "gpt"],
  [/^gemini/, "gemini"],
  [/^(qwen|qwq|qvq)/, "qwen"],
  [/^deepseek/, "deepseek"],
  [/^ernie/, "ernie"],
  [/^(chat|code)?glm/, "glm"],
  [/^hunyuan/, "hunyuan"],
  [/^(minimax|abab\d)/, "minimax"],
  [/^((meta|code)-?)?llama/, "llama"],
  [/^(mistral|mixtral|ministral|codestral|devstral|magistral)/, "mistral"],
  [/^(kimi|moonshot)/, "kimi"],
  [/^grok/, "grok"],
];

/** A vendor in front of a name that says nothing by itself. */
const BY_VENDOR: readonly (readonly [RegExp, string])[] = [
  [/^anthropic$/, "claude"],
  [/^openai$/, "gpt"],
  [/^google$/, "gemini"],
  [/^(qwen|alibaba)$/, "qwen"],
  [/^deepseek(-ai)?$/, "deepseek"],
  [/^baidu$/, "ernie"],
  [/^(z-ai|zai|zai-org|zhipu|zhipuai|thudm)$/, "glm"],
  [/^tencent$/, "hunyuan"],
  [/^minimax(ai)?$/, "minimax"],
  [/^meta(-llama)?$/, "llama"],
  [/^mistralai$/, "mistral"],
  [/^moonshotai$/, "kimi"],
  [/^x-ai$/, "grok"],
];

/**
 * The family of a model by its id (B-1), in any case, also where a vendor or region stands in front (`anthropic/claude-…`,
 * `@cf/qwen/…`, `us.anthropic.claude-…`) or a kind (`ft:gpt-…`). Unknown = `claude`.
 */
export function familyOf(modelId: string): string {
  const [name = "", ...vendors] = modelId.toLowerCase().split("/").reverse();
  return find(BY_NAME, tails(name)) ?? find(BY_VENDOR, vendors) ?? DEFAULT_FAMILY;
}

/** The name itself, then what is left of it after each `.` and `:`. */
function tails(name: string): string[] {
  return [name, ...Array.from(name.matchAll(/[.:]/g), (mark) => name.slice(mark.index + 1))];
}

function find(table: typeof BY_NAME, texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const row = table.find(([pattern]) => pattern.test(text));
    if (row) return row[1];
  }
  return undefined;
}
