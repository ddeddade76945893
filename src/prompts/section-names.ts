/** Static sections of the built-in bundles, in prompt order; one list, so that all languages have the same. */
export const STATIC_NAMES = [
  "intro",
  "doing_tasks",
  "tool_use",
  "permissions",
  "git_safety",
  "code_quality",
  "tone",
] as const;
export type StaticTexts = Readonly<Record<(typeof STATIC_NAMES)[number], string>>;
