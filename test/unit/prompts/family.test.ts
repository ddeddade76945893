import { expect, test } from "vitest";
import { familyOf } from "../../../src/prompts/index.ts";

// spec: B-1
test.each([
  ["claude-sonnet-4-6", "claude"],
  ["anthropic/claude-opus-4.6", "claude"],
  ["us.anthropic.claude-haiku-4-5-v1:0", "claude"],
  ["gpt-5.4", "gpt"],
  ["openai/gpt-oss-120b", "gpt"],
  ["@cf/openai/gpt-oss-20b", "gpt"],
  ["ft:gpt-4o-mini:acme", "gpt"],
  ["chatgpt-4o-latest", "gpt"],
  ["o1", "gpt"],
  ["o3-mini", "gpt"],
  ["openai/o4-mini:high", "gpt"],
  ["gemini-2.5-pro", "gemini"],
  ["google/gemini-2.5-flash", "gemini"],
  ["publishers/google/models/gemini-2.5-pro", "gemini"],
  ["qwen2.5-72b-instruct", "qwen"],
  ["qwen/qwen3", "qwen"],
  ["@cf/qwen/qwq-32b", "qwen"],
  ["Qwen/Qwen3-Coder", "qwen"],
  ["qwen2.5-coder:7b", "qwen"],
  ["deepseek-chat", "deepseek"],
  ["@cf/deepseek-ai/deepseek-r1-distill-qwen-32b", "deepseek"],
  ["baidu/ernie-4.5-300b-a47b", "ernie"],
  ["ERNIE-4.0-8K", "ernie"],
  ["z-ai/glm-4.6", "glm"],
  ["THUDM/chatglm3-6b", "glm"],
  ["tencent/hunyuan-a13b-instruct", "hunyuan"],
  ["MiniMax-M2.7", "minimax"],
  ["llama3.3:latest", "llama"],
  ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", "llama"],
  ["tencent/some-new-name", "hunyuan"],
  ["demo", "claude"],
  ["o", "claude"],
  ["o1ive", "claude"],
  ["olmo-2", "claude"],
  ["openrouter/auto", "claude"],
  ["", "claude"],
])("%s is of the family %s", (model, family) => {
  expect(familyOf(model)).toBe(family);
});
