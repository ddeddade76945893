/** The o series and the GPT-5 families, but for the chat variants. */
export function isReasoning(model: string): boolean {
  const id = model.slice(model.lastIndexOf("/") + 1);
  return /^(?:o\d|gpt-(?:[5-9]|\d{2}))/.test(id) && !/-chat/.test(id);
}

/** OpenAI's own endpoint and Azure's; anything else is a compatible server. */
export function isOfficial(baseUrl: string): boolean {
  return /^https:\/\/(?:[a-z0-9-]+\.)*(?:openai\.com|azure\.com)(?:[:/]|$)/i.test(baseUrl);
}
