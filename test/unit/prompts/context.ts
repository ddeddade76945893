import type { PromptContext } from "../../../src/contract/prompts.ts";

/** A session that has everything a section can speak of. */
export const FULL: PromptContext = {
  cwd: "/workspace/api",
  root: "/workspace",
  backend: "http",
  model: "claude-sonnet-4-6",
  provider: "anthropic",
  toolDescriptions: [
    { name: "Read", description: "Reads a file. Text comes with line numbers." },
    { name: "Bash", description: "Runs a command in a bash shell, e.g.\nls" },
  ],
  skills: [{ name: "release", description: "How this team\n# releases" }],
  memory: "- [Style](style.md): tabs",
  git: { branch: "main", dirty: true, root: "/workspace" },
  appendPrompt: "Work in small commits.",
  evolveFragment: "# Learned\n\nTests live in spec/.",
  language: "German",
  date: "2026-11-08",
};

/** A session of which only the necessary is known. */
export const BARE: PromptContext = {
  cwd: "/workspace",
  root: "/workspace",
  backend: "virtual",
  model: "qwen3-max",
  provider: "openrouter",
  toolDescriptions: [],
  skills: [],
  memory: undefined,
  git: undefined,
  appendPrompt: undefined,
  evolveFragment: undefined,
  language: undefined,
};
